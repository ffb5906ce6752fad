.class public LOther;
.super Ljava/lang/Object;
