.class public LTask;
.super Ljava/lang/Object;
.implements Ljava/lang/Runnable;
