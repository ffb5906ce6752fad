# Methods that return arrays of different types, which no one type holds where they meet.
# Assembled by: smali assemble -a 26 -o tests/dex/returns.dex tests/dex/returns

.class public LReturns;
.super Ljava/lang/Object;

.method static one()I
    .registers 1
    const/4 v0, 0x1
    invoke-static {v0}, Ljava/lang/Math;->abs(I)I
    move-result v0
    return v0
.end method

# Both in one register.
.method public static tasks(Z)[Ljava/lang/Runnable;
    .registers 2
    invoke-static {}, LReturns;->one()I
    move-result v0
    if-eqz p0, :second
    new-array v0, v0, [LReturns$A;
    return-object v0
    :second
    new-array v0, v0, [LReturns$B;
    return-object v0
.end method

# In several registers, with null, and `if` at the end.
.method public of(IZ)[[Ljava/lang/Runnable;
    .registers 6
    invoke-static {}, LReturns;->one()I
    move-result v0
    if-nez p2, :third
    if-lez p1, :second
    new-array v1, v0, [[LReturns$A;
    return-object v1
    :second
    new-array v2, v0, [[LReturns$B;
    if-gtz p1, :fourth
    return-object v2
    :third
    const/4 v0, 0x0
    return-object v0
    :fourth
    return-object v2
.end method

.method public static numbers(Z)[Ljava/lang/Cloneable;
    .registers 3
    invoke-static {}, LReturns;->one()I
    move-result v0
    if-eqz p0, :second
    new-array v1, v0, [[I
    return-object v1
    :second
    new-array v1, v0, [[J
    return-object v1
.end method

# The returns lie in tries, and a handler returns, too.
.method public static guarded(Z)[Ljava/io/Serializable;
    .registers 3
    :from
    invoke-static {}, LReturns;->one()I
    move-result v0
    if-eqz p0, :second
    new-array v1, v0, [Ljava/lang/String;
    return-object v1
    :second
    new-array v1, v0, [Ljava/lang/Integer;
    return-object v1
    :to
    .catch Ljava/lang/RuntimeException; {:from .. :to} :caught
    :caught
    move-exception v0
    const/4 v0, 0x1
    new-array v0, v0, [[S
    return-object v0
.end method

# No local, and two words of arguments.
.method public given([LReturns$A;[LReturns$B;)[Ljava/lang/Runnable;
    .registers 3
    invoke-static {}, LReturns;->one()I
    if-eqz p1, :second
    return-object p1
    :second
    return-object p2
.end method

# A frame that four bits do not name.
.method public static large([LReturns$A;[LReturns$B;IIIIIIIIIIIIII)[Ljava/lang/Runnable;
    .registers 16
    invoke-static {}, LReturns;->one()I
    if-eqz p0, :second
    return-object p0
    :second
    return-object p1
.end method

# Holds a monitor.
.method public static locked(Ljava/lang/Object;Z)[Ljava/lang/Runnable;
    .registers 4
    monitor-enter p0
    :from
    invoke-static {}, LReturns;->one()I
    move-result v0
    monitor-exit p0
    :to
    if-eqz p1, :second
    new-array v1, v0, [LReturns$A;
    return-object v1
    :second
    new-array v1, v0, [LReturns$B;
    return-object v1
    .catchall {:from .. :to} :caught
    :caught
    move-exception v0
    monitor-exit p0
    throw v0
.end method

# What follows meets in one type: arrays of a class, and what is no array.
.method public static classes(Z)[LReturns$Base;
    .registers 3
    invoke-static {}, LReturns;->one()I
    move-result v0
    if-eqz p0, :second
    new-array v1, v0, [LReturns$A;
    return-object v1
    :second
    new-array v1, v0, [LReturns$B;
    return-object v1
.end method

.method public static objects(Z)[Ljava/lang/Object;
    .registers 3
    invoke-static {}, LReturns;->one()I
    move-result v0
    if-eqz p0, :second
    new-array v1, v0, [[I
    return-object v1
    :second
    new-array v1, v0, [LReturns$B;
    return-object v1
.end method

.method public static task(Z)Ljava/lang/Runnable;
    .registers 2
    if-eqz p0, :second
    new-instance v0, LReturns$A;
    invoke-direct {v0}, LReturns$A;-><init>()V
    return-object v0
    :second
    new-instance v0, LReturns$B;
    invoke-direct {v0}, LReturns$B;-><init>()V
    return-object v0
.end method
