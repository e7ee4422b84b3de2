// Bounds and switches of a run, and the rules that can be taken away.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>
using namespace std;
typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
static int N = 3, W = 2, E = 3, R = 5, CB = 1, K0 = 1, KMIN = 1, KMAX = 1, NM = 2, SYM = 1;
static u64 CAP = 60000000;
static bool LIVE = false, NOREC = false, FINE = false, STOP = false, REBOOT = false, RESTORE = false, REPOINT = false, ERR = false, GATHER = false, VOLUMES = false, SMALL = false;
static int START = 0, ONLY = 0, SIM = 0, DEPTH = 150;
static u64 SEED = 1;

// Each one REMOVES or WEAKENS one rule of the safe version.
#define MUTATIONS(X) \
  X(NO_REVFENCE, "agents take orders of an older revision") \
  X(NO_LEAVING, "no step ‘leaving’: the gate is closed before the record says so") \
  X(G_EXEC, "the set a marker stands for is what P executed, not its whole binlog") \
  X(REC_BEFORE_GATE, "the record drops a member before its gate is closed") \
  X(NO_KWAIT, "a member leaves before k others hold everything") \
  X(NO_SPRIME, "S′ need not hold the new primary’s set") \
  X(READ_BEFORE_STOP, "a member reports before its receiver has stopped") \
  X(PROM_VOLATILE, "a promise is forgotten when its agent dies") \
  X(NO_UNION, "the candidate need not hold the union") \
  X(QUORUM_LESS, "one promise too few revokes") \
  X(NO_SK_GUARD, "S revokes although |S| < k") \
  X(NO_EPOCH_FENCE, "agents take orders of an older epoch") \
  X(P_EMPTY_UNION, "P promises, and its binlog is no part of the union") \
  X(P_LIVE, "P promises and goes on") \
  X(ADD_NO_EVID, "|S| reaches k without proof that k hold everything") \
  X(GATE_BEFORE_RECORD, "a gate opens before the record names the member") \
  X(SPRIME_UNPROMISED, "S′ takes members that promised nothing") \
  X(TRIM_EARLY, "a tail is cut against a candidate before the commit") \
  X(TRIM_UNFENCED, "a trim is obeyed whatever its epoch and revision") \
  X(RESEED_LOOSE, "a re-seed does not name the set it destroys") \
  X(LOWER_P_FIRST, "P lowers k before the record does") \
  X(RAISE_REC_FIRST, "the record raises k before P waits for it") \
  X(KEEP_GATES, "gates survive a demotion") \
  X(GTID_REUSE, "a trimmed instance keeps its server_uuid and may issue the same GTID again") \
  X(NO_ERRANT_CHECK, "a replica follows although it has what the primary lacks") \
  X(FOLLOW_COUNTED, "every follower acknowledges") \
  X(CAS_EPOCH_ONLY, "compare-and-swap compares the epoch alone") \
  X(FENCE_VOLATILE, "the revision acted on is forgotten when the agent dies") \
  X(ACCT_ONLY, "gates alone, semi-sync always on") \
  X(NO_BUMP, "promises given in vain are never given back (liveness)") \
  X(P_SOFT, "P counts as revoked while sessions wait") \
  X(OTHERS_ANY, "a marker’s k may be anybody") \
  X(CATCHUP_UNFENCED, "fetches are obeyed without a promise") \
  X(NO_KILL_TAIL, "a waiting primary is drained, not killed") \
  X(CAND_UNPROMISED, "the candidate need not have promised") \
  X(DISK_LOSS, "an instance that lost its volume is the same member") \
  X(RESEED_MEMBER, "a member of S may be re-seeded") \
  X(NO_INTENT, "fetches need no intent") \
  X(LOWER_NO_EVID, "k is lowered without proof while |S| < k") \
  X(ADD_UNCHECKED, "anybody is added, follower or not") \
  X(Q_ANY, "promises from outside of S count") \
  X(EMPTY_FORBIDDEN, "S′ may not be empty (liveness)") \
  X(STOP_VIA_S, "S alone revokes although P’s tail may have been acknowledged") \
  X(STOP_TRIM, "such a tail may be cut") \
  X(STOP_NO_MARKER, "such a tail counts as safe without a marker") \
  X(FORGOT_COUNTED, "who forgot counts for a quorum") \
  X(FORGOT_CLEARED, "who forgot is believed again at once") \
  X(REPORT_UNSYNCED, "a report is given before the relay log is synced") \
  X(PLAIN_KEEPS, "gathering: a plain promise leaves a receiver running that does not come from the primary") \
  X(TOO_MANY_GATHERED, "gathering: more than |counted| − k are gathered") \
  X(KEEP_FROM_P, "gathering: a promise may be kept while receiving from P") \
  X(KEEP_EARLY, "gathering: a promise may be kept before P’s own report") \
  X(GATHERED_UNPROMISED, "gathering: S′ takes gathered members that promised nothing") \
  X(KEEP_ORDERLY, "gathering: a kept promise passes for an orderly stop, so a machine’s crash is not told") \
  X(KEEP_UNSYNCED, "gathering: a kept promise reports before the relay log is synced") \
  X(OPEN_UNCLEAN, "gathering: the candidate opens without dropping connections that are not in S′") \
  X(KEEP_OTHER, "gathering: another one than the candidate may be elected") \
  X(INTENT_STAYS, "gathering: another change of the record keeps the gathered") \
  X(CAUGHT_UP_WITH_C, "gathering: who forgot is believed again once level with the candidate") \
  X(LEAVE_UNMARKED, "decision 10: a member leaves without a marker although |S| ≥ k")
#define NAME(name, text) name,
enum Mut { MUTATIONS(NAME) NM_ };
#undef NAME
#define TEXT(name, text) {#name, text},
static const struct {
  const char *name, *text;
} MN[] = {MUTATIONS(TEXT)};
#undef TEXT
static bool M[NM_];
