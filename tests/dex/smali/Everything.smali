.class public Lfix/Everything;
.super Ljava/lang/Object;
.source "Everything.java"
.implements Ljava/lang/Runnable;
.implements Ljava/util/concurrent/Callable;

.annotation runtime Lfix/Marker;
    value = 0x7
.end annotation

.field public static final whitelist text:Ljava/lang/String; = "\u0000 nul, \ud83d\ude00 and plain"
.field public static greylist shared:I = 0x2a
.field private blacklist instance:J
    .annotation runtime Lfix/Marker;
        value = 0x8
    .end annotation
.end field

.method static constructor <clinit>()V
    .registers 0
    return-void
.end method

.method public constructor <init>(J)V
    .registers 3
    .param p1, "start"    # J
        .annotation runtime Lfix/Marker;
            value = 0x9
        .end annotation
    .end param
    .line 10
    invoke-direct {p0}, Ljava/lang/Object;-><init>()V
    .line 11
    iput-wide p1, p0, Lfix/Everything;->instance:J
    .line 12
    return-void
.end method

.method public static whitelist run(I)I
    .registers 4
    .annotation runtime Lfix/Marker;
        value = 0xa
    .end annotation
    .line 20
    :start
    const-string v0, "a string"
    .local v0, "s":Ljava/lang/String;, "Ljava/util/List<Ljava/lang/String;>;"
    invoke-virtual {v0}, Ljava/lang/String;->length()I
    move-result v1
    .line 21
    :more
    div-int v1, v1, p0
    :end
    .catch Ljava/lang/ArithmeticException; {:start .. :end} :arithmetic
    .catch Ljava/lang/Throwable; {:start .. :end} :any
    .catch Ljava/lang/RuntimeException; {:end .. :last} :arithmetic
    .catchall {:end .. :last} :any
    .end local v0
    .restart local v0
    packed-switch v1, :switch
    return v1
    :one
    add-int/lit8 v1, v1, 0x1
    :last
    goto :more
    :arithmetic
    move-exception v0
    const/4 v1, -0x1
    return v1
    :any
    move-exception v0
    throw v0
    :switch
    .packed-switch 0x1
        :one
        :one
    .end packed-switch
.end method

.method public run()V
    .registers 2
    sget-object v0, Ljava/lang/System;->out:Ljava/io/PrintStream;
    const-class v1, Lfix/Everything;
    invoke-virtual {v0, v1}, Ljava/io/PrintStream;->println(Ljava/lang/Object;)V
    return-void
.end method

.method public call()Ljava/lang/Object;
    .registers 3
    invoke-custom {}, call_site_0("run", ()Ljava/lang/Runnable;, ()V, 0x5)@Lfix/Everything;->bootstrap(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/invoke/MethodType;Ljava/lang/invoke/MethodType;I)Ljava/lang/invoke/CallSite;
    move-result-object v0
    const-method-handle v1, static-get@Lfix/Everything;->shared:I
    const-method-type v1, (ILjava/lang/Throwable;)V
    return-object v0
.end method

.method public static bootstrap(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/invoke/MethodType;Ljava/lang/invoke/MethodType;I)Ljava/lang/invoke/CallSite;
    .registers 6
    const/4 v0, 0x0
    return-object v0
.end method

.method public static poly(Ljava/lang/invoke/MethodHandle;I)V
    .registers 2
    invoke-polymorphic {p0, p1}, Ljava/lang/invoke/MethodHandle;->invoke([Ljava/lang/Object;)Ljava/lang/Object;, (I)V
    return-void
.end method

.method public native nothing()V
.end method
