# Points of each kind, where they are awkward: tests/cli/hooks.rs weaves them, check_art.py has ART judge what comes of it.
.class public LPoints;
.super LBase;

.field public final text:Ljava/lang/String;
.field public static other:Ljava/lang/Object;
.field public wide:J

# A field is set in front of super(..) and behind it, and another object of the same class is made.
.method public constructor <init>(Ljava/lang/String;)V
    .registers 3
    .line 10
    iput-object p1, p0, LPoints;->text:Ljava/lang/String;
    invoke-direct {p0}, LBase;-><init>()V
    .line 11
    iput-object p1, p0, LPoints;->text:Ljava/lang/String;
    new-instance v0, LBase;
    invoke-direct {v0}, LBase;-><init>()V
    return-void
.end method

# The try is open where nothing throws, and its handler needs what was there.
.method public static open(Ljava/lang/String;)I
    .registers 2
    :from
    .line 20
    sget-object p0, LPoints;->other:Ljava/lang/Object;
    .line 21
    goto :on
    :on
    nop
    :to
    .catch Ljava/lang/Exception; {:from .. :to} :caught
    const/4 v0, 0x0
    return v0
    :caught
    move-exception v0
    .line 22
    invoke-virtual {p0}, Ljava/lang/String;->length()I
    move-result v0
    return v0
.end method

# One lock in another: what gives up the outer one lies behind what gives up the inner one.
.method public static locks(Ljava/lang/Object;Ljava/lang/Object;)V
    .registers 3
    .line 30
    monitor-enter p0
    :outer
    .line 31
    monitor-enter p1
    :inner
    .line 32
    invoke-static {}, LBase;->work()V
    monitor-exit p1
    :given
    .catchall {:inner .. :given} :give
    monitor-exit p0
    :done
    .catchall {:outer .. :inner} :giveouter
    .catchall {:given .. :done} :giveouter
    return-void
    :give
    move-exception v0
    monitor-exit p1
    :again
    .catchall {:give .. :again} :giveouter
    throw v0
    :giveouter
    move-exception v0
    monitor-exit p0
    throw v0
.end method

# Nothing gives up this one where something fails.
.method public static bare(Ljava/lang/Object;)V
    .registers 1
    monitor-enter p0
    monitor-exit p0
    return-void
.end method

# Objects that are made across a branch, and by way of another register.
.method public static made(ZLjava/lang/String;)LPoints;
    .registers 4
    .line 50
    new-instance v0, LPoints;
    if-eqz p0, :no
    const-string p1, "yes"
    :no
    invoke-direct {v0, p1}, LPoints;-><init>(Ljava/lang/String;)V
    .line 51
    new-instance v1, LPoints;
    invoke-direct {v1, p1}, LPoints;-><init>(Ljava/lang/String;)V
    return-object v1
.end method

# Lines that begin where nothing can be put: between a call and its result.
.method public lines()J
    .registers 4
    :head
    .line 60
    iget-wide v0, p0, LPoints;->wide:J
    .line 61
    invoke-static {v0, v1}, LBase;->next(J)I
    .line 62
    move-result v0
    .line 60
    if-eqz v0, :head
    iget-wide v0, p0, LPoints;->wide:J
    return-wide v0
.end method
