.class public LBase;
.super Ljava/lang/Object;

.method public constructor <init>()V
    .registers 1
    invoke-direct {p0}, Ljava/lang/Object;-><init>()V
    return-void
.end method

.method public static work()V
    .registers 0
    return-void
.end method

.method public static next(J)I
    .registers 3
    long-to-int v0, p0
    return v0
.end method
