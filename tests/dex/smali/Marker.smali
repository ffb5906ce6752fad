.class public abstract interface annotation Lfix/Marker;
.super Ljava/lang/Object;
.implements Ljava/lang/annotation/Annotation;

# Every type of encoded value, in the defaults of an annotation.
.annotation system Ldalvik/annotation/AnnotationDefault;
    value = .subannotation Lfix/Marker;
        aByte = -0x1t
        aShort = 0x1234s
        aChar = 'c'
        anInt = 0x12345678
        aLong = 0x123456789abcdefL
        aFloat = 1.5f
        aDouble = 2.5
        aString = "a string"
        aType = Ljava/lang/Throwable;
        anEnum = .enum Lfix/Everything;->shared:I
        aField = Lfix/Everything;->shared:I
        aMethod = Lfix/Everything;->run(I)I
        anArray = { 1, "two", Ljava/lang/String; }
        aNull = null
        yes = true
    .end subannotation
.end annotation

.method public abstract value()I
.end method
