.class public LReturns$B;
.super LReturns$Base;
.implements Ljava/lang/Runnable;

.method public constructor <init>()V
    .registers 1
    invoke-direct {p0}, LReturns$Base;-><init>()V
    return-void
.end method

.method public run()V
    .registers 1
    return-void
.end method
