# Methods of the shapes that weaving treats differently; tests break their woven code.
# Assembled by: smali assemble -a 26 -o tests/dex/verify.dex tests/dex/verify/Shapes.smali

.class public LShapes;
.super Ljava/lang/Object;

.field x:I

.method public constructor <init>(I)V
    .registers 3
    invoke-direct {p0}, Ljava/lang/Object;-><init>()V
    iput p1, p0, LShapes;->x:I
    invoke-virtual {p0}, LShapes;->touch()V
    return-void
.end method

.method public constructor <init>()V
    .registers 2
    if-eqz p0, :never
    const/4 v0, 0x1
    invoke-direct {p0, v0}, LShapes;-><init>(I)V
    return-void
    :never
    const/4 v0, 0x2
    invoke-direct {p0, v0}, LShapes;-><init>(I)V
    return-void
.end method

.method public touch()V
    .registers 2
    iget v0, p0, LShapes;->x:I
    invoke-static {v0}, LShapes;->text(I)Ljava/lang/String;
    return-void
.end method

# Neither calls, throws nor loops: one hook is all.
.method public get()I
    .registers 3
    iget v0, p0, LShapes;->x:I
    if-gez v0, :end
    const/4 v0, 0x0
    :end
    return v0
.end method

.method static text(I)Ljava/lang/String;
    .registers 2
    invoke-static {p0}, Ljava/lang/String;->valueOf(I)Ljava/lang/String;
    move-result-object v0
    return-object v0
.end method

.method static choose(ILjava/lang/String;)Ljava/lang/String;
    .registers 3
    if-eqz p0, :second
    invoke-static {p0}, LShapes;->text(I)Ljava/lang/String;
    move-result-object v0
    return-object v0
    :second
    return-object p1
.end method

.method static wide(JI)J
    .registers 5
    invoke-static {p2}, LShapes;->text(I)Ljava/lang/String;
    add-long v0, p0, p0
    return-wide v0
.end method

.method static many(ILjava/lang/String;JDIIIIIIIIIII)J
    .registers 17
    invoke-static {p1, p0}, LShapes;->choose2(Ljava/lang/String;I)V
    return-wide p2
.end method

.method static choose2(Ljava/lang/String;I)V
    .registers 20
    const-string v0, "a"
    const/16 v17, 0x0
    invoke-virtual/range {p0 .. p0}, Ljava/lang/String;->length()I
    move-result v1
    return-void
.end method

.method static locked(Ljava/lang/Object;I)V
    .registers 3
    monitor-enter p0
    :try_start
    invoke-static {p1}, LShapes;->text(I)Ljava/lang/String;
    monitor-exit p0
    :try_end
    .catchall {:try_start .. :try_end} :handler
    return-void
    :handler
    move-exception v0
    :try_start2
    monitor-exit p0
    :try_end2
    .catchall {:try_start2 .. :try_end2} :handler
    throw v0
.end method

.method static unguarded(Ljava/lang/Object;I)V
    .registers 3
    monitor-enter p0
    invoke-static {p1}, LShapes;->text(I)Ljava/lang/String;
    monitor-exit p0
    invoke-static {p1}, LShapes;->text(I)Ljava/lang/String;
    return-void
.end method

.method static caught(I)Ljava/lang/String;
    .registers 2
    :try_start
    invoke-static {p0}, LShapes;->text(I)Ljava/lang/String;
    move-result-object v0
    return-object v0
    :try_end
    .catch Ljava/lang/RuntimeException; {:try_start .. :try_end} :handler
    :handler
    move-exception v0
    const-string v0, "caught"
    return-object v0
.end method

.method static loop(I)V
    .registers 2
    :head
    invoke-static {p0}, LShapes;->text(I)Ljava/lang/String;
    add-int/lit8 p0, p0, -0x1
    if-nez p0, :head
    return-void
.end method

.method static data(I)[I
    .registers 2
    packed-switch p0, :cases
    const/4 v0, 0x0
    return-object v0
    :one
    const/4 v0, 0x1
    new-array v0, v0, [I
    fill-array-data v0, :array
    return-object v0
    :cases
    .packed-switch 0x1
        :one
    .end packed-switch
    :array
    .array-data 4
        0x7
    .end array-data
    .array-data 4
        0x0
        0x0
    .end array-data
.end method

.method static fresh()Ljava/lang/Object;
    .registers 1
    new-instance v0, LShapes;
    invoke-direct {v0}, LShapes;-><init>()V
    return-object v0
.end method
