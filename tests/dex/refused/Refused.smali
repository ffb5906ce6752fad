# Each method but those of `fine` is one that ART's verifier refuses for what it returns or passes.
# Assembled by: smali assemble -a 26 -o tests/dex/refused.dex tests/dex/refused

.class public LRefused;
.super Ljava/lang/RuntimeException;
.implements Ljava/lang/Runnable;

.method public constructor <init>()V
    .registers 1
    invoke-direct {p0}, Ljava/lang/RuntimeException;-><init>()V
    return-void
.end method

# An exception as a class of this file.
.method public static exceptionAsOther()LOther;
    .registers 1
    new-instance v0, LRefused;
    invoke-direct {v0}, LRefused;-><init>()V
    return-object v0
.end method

# An exception as a class of the platform.
.method public static exceptionAsString()Ljava/lang/String;
    .registers 1
    new-instance v0, LRefused;
    invoke-direct {v0}, LRefused;-><init>()V
    return-object v0
.end method

.method public static exceptionAsError()Ljava/lang/Error;
    .registers 1
    new-instance v0, LRefused;
    invoke-direct {v0}, LRefused;-><init>()V
    return-object v0
.end method

# A class of the platform as one of this file.
.method public static listAsOther(Ljava/util/ArrayList;)LOther;
    .registers 1
    return-object p0
.end method

.method public static otherAsException(LOther;)Ljava/lang/RuntimeException;
    .registers 1
    return-object p0
.end method

# What two arrays have in common is no array of an interface.
.method public static metArrays(Z)[Ljava/lang/Runnable;
    .registers 3
    const/4 v0, 0x1
    if-eqz p0, :second
    new-array v1, v0, [LRefused;
    goto :end
    :second
    new-array v1, v0, [LTask;
    :end
    return-object v1
.end method

.method public static objectsAsTasks([Ljava/lang/Object;)[Ljava/lang/Runnable;
    .registers 1
    return-object p0
.end method

.method public static othersAsTasks([LOther;)[Ljava/lang/Runnable;
    .registers 1
    return-object p0
.end method

.method public static intsAsTasks([[I)[Ljava/lang/Runnable;
    .registers 1
    return-object p0
.end method

.method public static intsAsOther([I)LOther;
    .registers 1
    return-object p0
.end method

.method public static passed([Ljava/lang/Object;)V
    .registers 1
    invoke-static {p0}, LRefused;->objectsAsTasks([Ljava/lang/Object;)[Ljava/lang/Runnable;
    invoke-static {p0}, LRefused;->othersAsTasks([LOther;)[Ljava/lang/Runnable;
    return-void
.end method

# What looks alike, and holds.
.method public static fine1()Ljava/lang/RuntimeException;
    .registers 1
    new-instance v0, LRefused;
    invoke-direct {v0}, LRefused;-><init>()V
    return-object v0
.end method

.method public static fine2()Ljava/io/Serializable;
    .registers 1
    new-instance v0, LRefused;
    invoke-direct {v0}, LRefused;-><init>()V
    return-object v0
.end method

.method public static fine3([LRefused;)[Ljava/io/Serializable;
    .registers 1
    return-object p0
.end method

.method public static fine4([[I)[Ljava/io/Serializable;
    .registers 1
    return-object p0
.end method

.method public static fine5(LOther;)Ljava/lang/Runnable;
    .registers 1
    return-object p0
.end method

.method public static fine6([[LOther;)[Ljava/lang/Cloneable;
    .registers 1
    return-object p0
.end method

.method public static fine7([Ljava/lang/Integer;)[Ljava/lang/Number;
    .registers 1
    return-object p0
.end method
