/* The fence as a model for the checker spin: no row appears below a bound up to which rows were read (docs/fence.md).
 *
 * Writers lock the table, draw a mark, perhaps prepare their transaction (which renames it), become visible, and let the lock go. A session
 * polls: the clock, the locks in two parts as the server reads them (fast-path slots, then the shared table), the rows. The session may end
 * at any time; the next one knows the cursor alone.
 *
 * tests/spec/check runs this model to its end, and once with each rule broken: -DNO_FENCE, -DINCLUSIVE, -DBOUND_OF_THIS_POLL,
 * -DLOCKS_BEFORE_CLOCK, -DNO_INHERITANCE, -DINHERITS_ONCE.
 */
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef POLLS
#define POLLS 3
#endif
#ifndef CLOCK_MAX
#define CLOCK_MAX 3
#endif
#define NAMES (2 * WRITERS) /* a transaction, and the same once it is prepared */
#define NONE 255

byte clock = 1;
bool fast[NAMES];    /* holds its lock in a fast-path slot */
bool shared[NAMES];  /* … in the shared table */
byte shown[WRITERS]; /* the mark of its row, once that is visible; 0: not yet */
byte read_to = 0;    /* rows below it were read */

active proctype Clock() {
end:
  do
  :: clock < CLOCK_MAX -> clock++
  od
}

proctype Writer(byte me) {
  byte mark;
  fast[me] = true;
  mark = clock;
  if /* a lock moves to the shared table at any time */
  :: d_step { fast[me] = false; shared[me] = true }
  :: true
  fi;
  if
  :: true /* prepares */
     d_step { fast[me] = false; shared[me] = true };
     d_step { shared[me] = false; shared[WRITERS + me] = true }
  :: true
  fi;
  atomic { assert(mark >= read_to); shown[me] = mark };
  d_step { fast[me] = false; shared[me] = false; shared[WRITERS + me] = false; mark = 0 }
}

active proctype Session() {
  byte f, previous, vanished, settled, cursor, i, polls;
  bool seen[NAMES], fresh[NAMES];
  byte bound[NAMES]; /* NONE: not known */

open:
  atomic {
    previous = cursor; i = 0;
    do
    :: i < NAMES -> bound[i] = NONE; fresh[i] = false; i++
    :: else -> i = 0; break
    od
  };
poll:
  if
  :: polls == POLLS -> goto over
  :: polls < POLLS -> polls++
  :: polls < POLLS && polls > 0 -> polls++; goto open /* the session ended */
  fi;
#ifndef LOCKS_BEFORE_CLOCK
  f = clock;
#endif
  d_step { i = 0; do :: i < NAMES -> seen[i] = fast[i]; i++ :: else -> i = 0; break od };
  d_step { i = 0; do :: i < NAMES -> seen[i] = seen[i] || shared[i]; i++ :: else -> i = 0; break od };
#ifdef LOCKS_BEFORE_CLOCK
  f = clock;
#endif
  d_step {
    vanished = NONE; settled = f; i = 0;
    do
    :: i < NAMES && bound[i] != NONE && !seen[i] -> vanished = (bound[i] < vanished -> bound[i] : vanished); i++
    :: i < NAMES && !(bound[i] != NONE && !seen[i]) -> i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < NAMES && !seen[i] -> bound[i] = NONE; fresh[i] = false; i++
    :: i < NAMES && seen[i] && bound[i] == NONE -> /* first seen by this poll */
#ifdef BOUND_OF_THIS_POLL
         bound[i] = f;
#else
         bound[i] = previous;
#endif
         fresh[i] = true;
#ifndef NO_INHERITANCE
         bound[i] = (i >= WRITERS && vanished < bound[i] -> vanished : bound[i]);
#endif
         settled = (bound[i] < settled -> bound[i] : settled); i++
    :: i < NAMES && seen[i] && bound[i] != NONE ->
#if !defined(NO_INHERITANCE) && !defined(INHERITS_ONCE)
         bound[i] = (i >= WRITERS && fresh[i] && vanished < bound[i] -> vanished : bound[i]);
#endif
         fresh[i] = false;
         settled = (bound[i] < settled -> bound[i] : settled); i++
    :: else -> i = 0; break
    od;
    previous = f;
#ifdef NO_FENCE
    settled = f;
#endif
#ifdef INCLUSIVE
    settled++;
#endif
    f = 0; vanished = 0
  };
  d_step { /* the rows; the cursor follows them */
    read_to = (settled > read_to -> settled : read_to); i = 0;
    do
    :: i < WRITERS && shown[i] > cursor && shown[i] < settled -> cursor = shown[i]; i++
    :: i < WRITERS && !(shown[i] > cursor && shown[i] < settled) -> i++
    :: else -> i = 0; break
    od;
    settled = 0
  };
  goto poll;
over:
  skip
}

init {
  byte w;
  atomic { do :: w < WRITERS -> run Writer(w); w++ :: else -> break od }
}
