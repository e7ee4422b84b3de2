#!/bin/bash
# Takes one rule away at a time, each in the smallest configuration known to show it, and prints what is found (about ten minutes on an idle core).
cd "$(dirname "$0")" || exit 1
B=${B:-./regent}
small="-W 1 -E 2 -R 4 -C 1 -nm 1 -cap 4000000"
two="-W 2 -E 2 -R 4 -C 1 -nm 2 -cap 4000000"
five="-N 5 -k 2 -W 2 -E 4 -R 10 -C 2 -nm 2 -depth 200 -sim 15"
acks="-sim 15 -W 3 -E 4 -R 12 -C 3 -kmin 0 -kmax 2 -nm 2"
switched="-start 4 -gather -reboot -W 1 -E 3 -R 5 -C 2 -nm 1 -cap 4000000 -only 1"

run() {
  rule=$1
  shift
  # shellcheck disable=SC2086 # a rule may be two
  result=$(timeout 120 "$B" "$@" $rule 2>&1 | grep -E 'VIOLATION|EXHAUST|CAPPED|SIM:' | tail -1)
  echo "$rule | ${result:-timeout}"
}

for rule in G_EXEC REC_BEFORE_GATE NO_KWAIT NO_SPRIME READ_BEFORE_STOP NO_UNION QUORUM_LESS NO_SK_GUARD P_EMPTY_UNION P_LIVE P_SOFT ADD_NO_EVID GATE_BEFORE_RECORD FOLLOW_COUNTED TRIM_EARLY KEEP_GATES \
  NO_ERRANT_CHECK OTHERS_ANY CAND_UNPROMISED DISK_LOSS LEAVE_UNMARKED; do run $rule $small; done
for rule in NO_REVFENCE NO_LEAVING PROM_VOLATILE NO_EPOCH_FENCE CAS_EPOCH_ONLY FENCE_VOLATILE TRIM_UNFENCED; do run $rule $two; done
for rule in SPRIME_UNPROMISED CATCHUP_UNFENCED; do run $rule $five; done
for rule in LOWER_P_FIRST RAISE_REC_FIRST; do run $rule $acks; done
for rule in Q_ANY ADD_UNCHECKED; do run $rule -W 2 -E 3 -R 5 -C 1 -nm 1 -cap 4000000; done
run LOWER_NO_EVID -start 2 -k 2 -kmin 1 -kmax 2 -W 1 -E 3 -R 5 -C 0 -nm 1
for rule in RESEED_LOOSE RESEED_MEMBER; do run $rule -start 1 -W 2 -E 2 -R 5 -C 0 -nm 2; done
run GTID_REUSE -start 3 -N 4 -k 2 -W 2 -E 3 -R 5 -C 0 -nm 1
run NO_INTENT -W 1 -E 2 -R 4 -C 1 -nm 2 -cap 12000000
for rule in STOP_VIA_S STOP_NO_MARKER; do run $rule $small -stop; done
for rule in FORGOT_COUNTED FORGOT_CLEARED; do run $rule $small -reboot; done
for rule in "KEEP_EARLY KEEP_FROM_P" OPEN_UNCLEAN KEEP_EARLY KEEP_FROM_P GATHERED_UNPROMISED KEEP_OTHER INTENT_STAYS; do run "$rule" $small -gather; done
for rule in PLAIN_KEEPS KEEP_ORDERLY KEEP_UNSYNCED; do run $rule $switched; done
run TOO_MANY_GATHERED -N 4 -k 2 -W 1 -E 2 -R 3 -C 0 -nm 1 -gather
