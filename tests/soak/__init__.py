"""Long runs with faults. Each has a short form for every day; `make soak` runs the long one.

`HASHRANGE_SOAK=1` makes the long runs; 0.1 a tenth of them. Every harness has a planted fault
that it must find on each run.

test_power_cuts     a disk that loses what was not synced
test_kills          two servers on one file, killed again and again
test_postgres_*     servers on one PostgreSQL database: killed, the database killed, and histories
test_io_faults      a disk that fails at any read, write or sync
test_bit_flips      a bit of the file, or of its log, is flipped
test_memory         requests that never repeat
test_forks          forks while other threads read and write
test_exits          programs that end while daemon threads write
test_abuse_*        clients that take more than their share: waits and memory have limits
"""
