/* The protocol of a lane as a model for the checker spin.
 *
 * Two relays, a person who acts, one cursor row. A statement to the server is one atomic step. Between two steps anything may happen:
 * time passes, a relay is frozen and thawed, its backend ends and the relay notices only later, an answer is lost, the server's clock
 * jumps. Time is counted in ticks that are left, and epochs by who has the newest one, so that there are few states.
 *
 * The rules:
 *   claim   takes a row that is free, whose holder's backend is gone, or whose lease has passed. The lease has passed only if the claimant
 *           has seen the same epoch and lease for the lease's length on its own clock. A claim makes a new epoch.
 *   start   announces calls: it marks the row and moves the lease past the last moment at which such a call can end. It is refused if the
 *           epoch or the position differs, or while a person asks for a turn.
 *   call    begins only within CALL_BEGIN_MAX of sending the statement that announced it, and only if the connection is not known to be lost.
 *   settle  moves the position over what is done, by the same comparison. It announces the next calls, unless a person asks for a turn.
 *   act     changes the row only while no call is announced, or if the holder is gone by the rule of claim. It makes a new epoch.
 *
 * tests/spec/check runs this model to its end, and once with each rule left out: -DNO_LEASE_COVER, -DNO_BEGIN_LIMIT, -DNO_LOST_CHECK,
 * -DNO_EPOCH, -DACT_IGNORES_CALL, -DSERVER_CLOCK_ALONE, -DHOLD_IGNORED.
 */
#ifndef ROWS
#define ROWS 2
#endif
#ifndef TROUBLES
#define TROUBLES 1
#endif
#ifndef BATCH
#define BATCH 1 /* calls that one settle covers: commit_every */
#endif

#define CALL_BEGIN_MAX 1 /* ticks */
#define DEADLINE 1       /* a call of a relay that is not frozen ends within this */
#ifdef NO_LEASE_COVER
#define LEASE 1
#else
#define LEASE (CALL_BEGIN_MAX + DEADLINE + 1)
#endif
#define NOBODY 2
#define PERSON 2

/* --- the server ----------------------------------------------------------------------------------------------------------- */
byte position;        /* rows below it are done or skipped */
byte holder = NOBODY;
bool newest[2];       /* the epoch this relay holds is that of the row */
byte lease;           /* ticks until it has passed, by the server's clock */
bool marked;          /* a call is announced and not settled */
bool asked_for;       /* a person asks for a turn */
bool alive[3] = true; /* the backend of each relay */

/* --- the relays and the person -------------------------------------------------------------------------------------------- */
bool changed[3];      /* the row has changed since they last read it */
byte patience[3];     /* ticks until they have seen it unchanged for the lease's length */
byte begin_left[2];   /* ticks in which a call may begin; 0: none */
byte call_left[2];    /* ticks until the call in flight must end */
bool at_once[2];      /* a relay that is not frozen takes its next step before time passes */
bool knows_lost[2];   /* the relay knows that its connection is lost */
bool frozen[2];

/* --- what really happened ------------------------------------------------------------------------------------------------- */
bool delivered[ROWS];
bool skipped[ROWS];
bool calling[2];      /* a call is in flight */
byte strays[2];       /* calls begun since the last claim of this relay, after another epoch was made */
byte since_asked;     /* calls begun by the holder since a person asked for a turn */
bool disturbed[2];    /* frozen or cut off since its last claim */
byte troubles = TROUBLES;

#define DONE(row) (delivered[row] || skipped[row])
#define RUNS (!frozen[me])
#define LETS_PASS(r) (frozen[r] || (!at_once[r] && !(calling[r] && call_left[r] == 0)))
#define LESS(x) x = (x > 0 -> x - 1 : 0)

active proctype Time() {
end:
  do
  :: d_step {
       LETS_PASS(0) && LETS_PASS(1) ->
       LESS(lease); LESS(patience[0]); LESS(patience[1]); LESS(patience[PERSON]);
       LESS(begin_left[0]); LESS(begin_left[1]); LESS(call_left[0]); LESS(call_left[1]) }
  od
}

inline trouble(r) {
  if
  :: d_step { troubles > 0 && !frozen[r] -> frozen[r] = true; disturbed[r] = true; troubles-- }
  :: d_step { troubles > 0 && alive[r] && holder == r -> alive[r] = false; disturbed[r] = true; troubles-- }
  :: frozen[r] -> frozen[r] = false
  :: !alive[r] && !knows_lost[r] -> knows_lost[r] = true
  fi
}

active proctype Trouble() {
end:
  do
  :: trouble(0)
  :: trouble(1)
  :: d_step { troubles > 0 && lease > 0 -> lease = 0; troubles-- } /* the server's clock jumps */
  od
}

/* Whether the holder may be replaced. */
#ifdef SERVER_CLOCK_ALONE
#define UNCHANGED(who) true
#else
#define UNCHANGED(who) (!changed[who] && patience[who] == 0)
#endif
#define GONE(who) (holder == NOBODY || !alive[holder] || (lease == 0 && UNCHANGED(who)))

inline read_cursor(who) { changed[who] = false; patience[who] = LEASE + 1 }
inline change() { changed[0] = true; changed[1] = true; changed[PERSON] = true }
inline new_epoch() { newest[0] = false; newest[1] = false; change() }
inline announce() { lease = LEASE + 1; begin_left[me] = CALL_BEGIN_MAX + 1; change() }

#ifdef NO_EPOCH
#define OURS (position == from)
#else
#define OURS (newest[me] && position == from)
#endif
#ifdef HOLD_IGNORED
#define TURN_ASKED false
#else
#define TURN_ASKED asked_for
#endif

proctype Relay(byte me) {
  byte from, row;
  bool next; /* the settle announced further calls */
  bool saw;  /* knew, when it checked whether it may call, that its connection is lost */

away: /* forgets what it knew, so that equal states are equal */
  atomic { RUNS -> from = 0; row = 0; next = false; at_once[me] = false; begin_left[me] = 0; alive[me] = true; knows_lost[me] = false }
claim:
  atomic {
    RUNS && (GONE(me) || holder == me || changed[me]);
    if
    :: GONE(me) || holder == me ->
         new_epoch(); newest[me] = true; holder = me; lease = LEASE + 1; marked = false;
         from = position; disturbed[me] = false; strays[me] = 0; patience[me] = 0
    :: else -> read_cursor(me); goto claim
    fi
  }
start:
  atomic {
    RUNS;
    if
    :: from == ROWS -> goto leave
    :: from < ROWS && (!alive[me] || !OURS) -> goto away
    :: from < ROWS && alive[me] && OURS && TURN_ASKED -> goto give_way
    :: from < ROWS && alive[me] && OURS && !TURN_ASKED -> marked = true; announce()
    fi
  }
calls:
  row = from;
  do
  :: row == ROWS || row == from + BATCH -> break
  :: row < ROWS && row < from + BATCH ->
     atomic { /* checks whether it may call; it may be frozen between this and the call */
       RUNS -> saw = knows_lost[me];
       if
#ifndef NO_BEGIN_LIMIT
       :: begin_left[me] == 0 -> goto settle
#endif
#ifndef NO_LOST_CHECK
       :: saw -> goto away
#endif
       :: else -> at_once[me] = true
       fi
     }
     atomic {
       RUNS -> calling[me] = true; call_left[me] = DEADLINE; at_once[me] = false;
       /* P2: two calls overlap only if a relay was frozen or cut off */
       assert(!calling[1 - me] || disturbed[0] || disturbed[1]);
       /* P5: a relay that was replaced begins one call at most; of a batch, those before the loss could be known */
       if
       :: !newest[me] ->
            strays[me]++;
            assert(strays[me] == 1 || (BATCH > 1 && !alive[me] && !saw && begin_left[me] > 0))
       :: else
            /* a person who asks waits for the calls that were announced, and for no others */
            assert(!asked_for || since_asked < BATCH);
            if
            :: asked_for -> since_asked++
            :: else
            fi
       fi;
       saw = false
     }
     if
     :: atomic { /* the receiver accepts it: P2, P4 nothing is delivered before what precedes it */
          assert(row == 0 || DONE(row - 1));
          delivered[row] = true }
        d_step { RUNS -> calling[me] = false; call_left[me] = 0; row++ }
     :: d_step { RUNS -> calling[me] = false; call_left[me] = 0 } break /* it fails */
     fi
  od;
settle:
  atomic {
    RUNS;
    if
    :: !alive[me] || !OURS -> goto away
    :: alive[me] && OURS && troubles > 0 -> troubles--; alive[me] = false; goto away /* lost on the way */
    :: alive[me] && OURS ->
         position = row; from = row; next = !TURN_ASKED && row < ROWS; marked = next; announce();
         /* P6: the cursor passes no row that is neither delivered nor skipped */
         assert(row == 0 || DONE(row - 1));
         if
         :: troubles > 0 -> troubles--; alive[me] = false; goto away /* its answer is lost */
         :: true
         fi
    fi
  }
  if
  :: from == ROWS -> goto leave
  :: next -> goto calls
  :: from < ROWS && !next -> goto give_way
  fi;
give_way:
  atomic { RUNS && !asked_for -> from = 0; row = 0; next = false; begin_left[me] = 0 }
  goto away; /* claims anew when the person is done */
leave:
  atomic {
    RUNS;
    if
    :: newest[me] && alive[me] -> holder = NOBODY; marked = false; change()
    :: else
    fi
  }
}

/* Skips the row at the cursor, whenever it likes. */
active proctype Person() {
end:
  do
  :: atomic { !asked_for && position < ROWS -> asked_for = true; since_asked = 0; read_cursor(PERSON) }
  :: atomic {
       asked_for && position < ROWS &&
#ifdef ACT_IGNORES_CALL
       true ->
#else
       (!marked || GONE(PERSON)) ->
#endif
       skipped[position] = true; position++;
       new_epoch(); holder = NOBODY; marked = false; asked_for = false; since_asked = 0; changed[PERSON] = false; patience[PERSON] = 0;
       /* P5: acts and calls do not overlap, unless the call's relay was frozen or cut off */
       assert((!calling[0] || disturbed[0]) && (!calling[1] || disturbed[1])) }
  :: atomic { asked_for && changed[PERSON] -> read_cursor(PERSON) }
  :: d_step { asked_for -> asked_for = false; since_asked = 0; changed[PERSON] = false; patience[PERSON] = 0 } /* the request expires */
  od
}

init { atomic { run Relay(0); run Relay(1) } }
