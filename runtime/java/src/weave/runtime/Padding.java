package weave.runtime;

/** A cache line in front of what one thread writes all the time, so that no other thread writes to the same line. */
class Padding {
    long p1;
    long p2;
    long p3;
    long p4;
    long p5;
    long p6;
    long p7;
    long p8;
}
