package weave.runtime;

/** What the hooks do where something is recorded. {@link Hooks} says when each is called. */
final class Recorder {
    private Recorder() {}

    static void enter(int id) {
        if (Hooks.ready || Hooks.prime()) {
            Lane lane = null;
            try {
                // The clock last: the look-up is not time of the method.
                lane = Switch.LANES.lane();
                lane.record(Format.ENTER, id, System.nanoTime());
            } catch (Throwable failure) {
                // The stack may have no room left for a call: fields only.
                boolean deep = failure instanceof StackOverflowError;
                if (lane == null) {
                    Hooks.adrift += deep ? 0 : 1;
                    Hooks.adriftShort += deep ? 1 : 0;
                } else if (!lane.busy) {
                    lane.failed++;
                    lane.lost += 1;
                    lane.untold += 1;
                    lane.broken += 1;
                    lane.deep += deep ? 1 : 0;
                    lane.fault |= failure instanceof InternalError;
                    lane.end = 0;
                }
                if (Hooks.deaths && failure instanceof ThreadDeath) {
                    throw (ThreadDeath) failure;
                }
            }
        }
    }

    static void exit(int id) {
        if (Hooks.ready || Hooks.prime()) {
            Lane lane = null;
            try {
                long now = System.nanoTime();
                lane = Switch.LANES.lane();
                lane.record(Format.EXIT, id, now);
            } catch (Throwable failure) {
                // The stack may have no room left for a call: fields only.
                boolean deep = failure instanceof StackOverflowError;
                if (lane == null) {
                    Hooks.adrift += deep ? 0 : 1;
                    Hooks.adriftShort += deep ? 1 : 0;
                } else if (!lane.busy) {
                    lane.failed++;
                    lane.lost += 1;
                    lane.untold += 1;
                    lane.broken += 1;
                    lane.deep += deep ? 1 : 0;
                    lane.fault |= failure instanceof InternalError;
                    lane.end = 0;
                }
                if (Hooks.deaths && failure instanceof ThreadDeath) {
                    throw (ThreadDeath) failure;
                }
            }
        }
    }

    static void error(Throwable t, int id) {
        if (Hooks.ready || Hooks.prime()) {
            Lane lane = null;
            try {
                long now = System.nanoTime();
                lane = Switch.LANES.lane();
                lane.error(t, id, now);
            } catch (Throwable failure) {
                // The stack may have no room left for a call: fields only.
                boolean deep = failure instanceof StackOverflowError;
                if (lane == null) {
                    Hooks.adrift += deep ? 0 : 1;
                    Hooks.adriftShort += deep ? 1 : 0;
                } else if (!lane.busy) {
                    lane.failed++;
                    lane.lost += 1;
                    lane.untold += 1;
                    lane.broken += 1;
                    lane.deep += deep ? 1 : 0;
                    lane.fault |= failure instanceof InternalError;
                    lane.end = 0;
                }
                if (Hooks.deaths && failure instanceof ThreadDeath) {
                    throw (ThreadDeath) failure;
                }
            }
        }
    }

    static void leave(Throwable t, int id) {
        if (Hooks.ready || Hooks.prime()) {
            Lane lane = null;
            try {
                long now = System.nanoTime();
                lane = Switch.LANES.lane();
                if (t == null) {
                    lane.record(Format.EXIT, id, now);
                } else {
                    lane.error(t, id, now);
                }
            } catch (Throwable failure) {
                // The stack may have no room left for a call: fields only.
                boolean deep = failure instanceof StackOverflowError;
                if (lane == null) {
                    Hooks.adrift += deep ? 0 : 1;
                    Hooks.adriftShort += deep ? 1 : 0;
                } else if (!lane.busy) {
                    lane.failed++;
                    lane.lost += 1;
                    lane.untold += 1;
                    lane.broken += 1;
                    lane.deep += deep ? 1 : 0;
                    lane.fault |= failure instanceof InternalError;
                    lane.end = 0;
                }
                if (Hooks.deaths && failure instanceof ThreadDeath) {
                    throw (ThreadDeath) failure;
                }
            }
        }
    }

    static void leaf(int id) {
        if (Hooks.ready || Hooks.prime()) {
            Lane lane = null;
            int missing = 2;
            try {
                lane = Switch.LANES.lane();
                long now = System.nanoTime();
                lane.record(Format.ENTER, id, now);
                missing = 1;
                lane.record(Format.EXIT, id, now);
            } catch (Throwable failure) {
                // The stack may have no room left for a call: fields only.
                boolean deep = failure instanceof StackOverflowError;
                if (lane == null) {
                    Hooks.adrift += deep ? 0 : missing;
                    Hooks.adriftShort += deep ? missing : 0;
                } else if (!lane.busy) {
                    lane.failed++;
                    lane.lost += missing;
                    lane.untold += missing;
                    lane.broken += missing;
                    lane.deep += deep ? missing : 0;
                    lane.fault |= failure instanceof InternalError;
                    lane.end = 0;
                }
                if (Hooks.deaths && failure instanceof ThreadDeath) {
                    throw (ThreadDeath) failure;
                }
            }
        }
    }

    static void count(int id) {
        if (Hooks.ready || Hooks.prime()) {
            Lane lane = null;
            try {
                lane = Switch.LANES.lane();
                lane.count(id);
            } catch (Throwable failure) {
                // The stack may have no room left for a call: fields only.
                boolean deep = failure instanceof StackOverflowError;
                if (lane == null) {
                    Hooks.adrift += deep ? 0 : 1;
                    Hooks.adriftShort += deep ? 1 : 0;
                } else if (!lane.busy) {
                    lane.failed++;
                    lane.untold += 1;
                    lane.broken += 1;
                    lane.deep += deep ? 1 : 0;
                }
                if (Hooks.deaths && failure instanceof ThreadDeath) {
                    throw (ThreadDeath) failure;
                }
            }
        }
    }

    static void start(int id) {
        if (Hooks.ready || Hooks.prime()) {
            Lane lane = null;
            try {
                lane = Switch.LANES.lane();
                lane.start(id);
            } catch (Throwable failure) {
                // The stack may have no room left for a call: fields only.
                boolean deep = failure instanceof StackOverflowError;
                if (lane == null) {
                    Hooks.adrift += deep ? 0 : 1;
                    Hooks.adriftShort += deep ? 1 : 0;
                } else if (!lane.busy) {
                    lane.failed++;
                    lane.untold += 1;
                    lane.broken += 1;
                    lane.deep += deep ? 1 : 0;
                }
                if (Hooks.deaths && failure instanceof ThreadDeath) {
                    throw (ThreadDeath) failure;
                }
            }
        }
    }

    static void stop(int id) {
        if (Hooks.ready || Hooks.prime()) {
            Lane lane = null;
            int depth = 0;
            try {
                long now = System.nanoTime();
                lane = Switch.LANES.lane();
                depth = lane.depth;
                lane.stop(id, now, false);
            } catch (Throwable failure) {
                // The stack may have no room left for a call: fields only.
                boolean deep = failure instanceof StackOverflowError;
                if (lane == null) {
                    Hooks.adrift += deep ? 0 : 1;
                    Hooks.adriftShort += deep ? 1 : 0;
                } else if (!lane.busy) {
                    lane.failed++;
                    lane.untold += 1;
                    lane.broken += 1;
                    lane.deep += deep ? 1 : 0;
                    if (depth > 0 && lane.depth == depth) {
                        lane.depth--; // it is over, even if it is in no sum
                    }
                }
                if (Hooks.deaths && failure instanceof ThreadDeath) {
                    throw (ThreadDeath) failure;
                }
            }
        }
    }

    static void failed(Throwable t, int id) {
        if (Hooks.ready || Hooks.prime()) {
            Lane lane = null;
            int depth = 0;
            try {
                long now = System.nanoTime();
                lane = Switch.LANES.lane();
                depth = lane.depth;
                lane.stop(id, now, true);
            } catch (Throwable failure) {
                // The stack may have no room left for a call: fields only.
                boolean deep = failure instanceof StackOverflowError;
                if (lane == null) {
                    Hooks.adrift += deep ? 0 : 1;
                    Hooks.adriftShort += deep ? 1 : 0;
                } else if (!lane.busy) {
                    lane.failed++;
                    lane.untold += 1;
                    lane.broken += 1;
                    lane.deep += deep ? 1 : 0;
                    if (depth > 0 && lane.depth == depth) {
                        lane.depth--; // it is over, even if it is in no sum
                    }
                }
                if (Hooks.deaths && failure instanceof ThreadDeath) {
                    throw (ThreadDeath) failure;
                }
            }
        }
    }

    /**
     * The method {@code id}, which is summed up, is left; where that took longer than so many microseconds, or failed, the call is told by
     * itself as well.
     */
    static void stop(int id, boolean error, int slower) {
        Lane lane = null;
        int depth = 0;
        try {
            long now = System.nanoTime();
            lane = Switch.LANES.lane();
            depth = lane.depth;
            long began = lane.began(id);
            lane.stop(id, now, error);
            if (began != Long.MIN_VALUE && (error || now - began > slower * 1_000L)) {
                lane.tell(id, began, now, error);
            }
        } catch (Throwable failure) {
            // The stack may have no room left for a call: fields only.
            boolean deep = failure instanceof StackOverflowError;
            if (lane == null) {
                Hooks.adrift += deep ? 0 : 1;
                Hooks.adriftShort += deep ? 1 : 0;
            } else if (!lane.busy) {
                lane.failed++;
                lane.untold += 1;
                lane.broken += 1;
                lane.deep += deep ? 1 : 0;
                if (depth > 0 && lane.depth == depth) {
                    lane.depth--; // it is over, even if it is in no sum
                }
            }
            if (Hooks.deaths && failure instanceof ThreadDeath) {
                throw (ThreadDeath) failure;
            }
        }
    }

    static void finish(Throwable t, int id) {
        if (Hooks.ready || Hooks.prime()) {
            Lane lane = null;
            int depth = 0;
            try {
                long now = System.nanoTime();
                lane = Switch.LANES.lane();
                depth = lane.depth;
                lane.stop(id, now, t != null);
            } catch (Throwable failure) {
                // The stack may have no room left for a call: fields only.
                boolean deep = failure instanceof StackOverflowError;
                if (lane == null) {
                    Hooks.adrift += deep ? 0 : 1;
                    Hooks.adriftShort += deep ? 1 : 0;
                } else if (!lane.busy) {
                    lane.failed++;
                    lane.untold += 1;
                    lane.broken += 1;
                    lane.deep += deep ? 1 : 0;
                    if (depth > 0 && lane.depth == depth) {
                        lane.depth--; // it is over, even if it is in no sum
                    }
                }
                if (Hooks.deaths && failure instanceof ThreadDeath) {
                    throw (ThreadDeath) failure;
                }
            }
        }
    }

    static void moment(int id) {
        if (Hooks.ready || Hooks.prime()) {
            Lane lane = null;
            try {
                lane = Switch.LANES.lane();
                lane.moment(id);
            } catch (Throwable failure) {
                // The stack may have no room left for a call: fields only.
                boolean deep = failure instanceof StackOverflowError;
                if (lane == null) {
                    Hooks.adrift += deep ? 0 : 1;
                    Hooks.adriftShort += deep ? 1 : 0;
                } else if (!lane.busy) {
                    lane.failed++;
                    lane.untold += 1;
                    lane.broken += 1;
                    lane.deep += deep ? 1 : 0;
                }
                if (Hooks.deaths && failure instanceof ThreadDeath) {
                    throw (ThreadDeath) failure;
                }
            }
        }
    }

    /** For {@link Hooks#prime}: the handlers above ask this where the stack may have no room to look classes up. */
    static boolean isError(Object o) {
        return o instanceof StackOverflowError || o instanceof InternalError;
    }

    /** The same, of what newer JDKs may not have. */
    static boolean isDeath(Object o) {
        return o instanceof ThreadDeath;
    }
}
