// Steps of servers, clients, faults, and of agents by themselves.
#pragma once
#include "state.hpp"
// Makes the step taken in `n` known: what it is, and the violation it is by itself (0 = none).
#define GO(viol, ...) \
  do { \
    snprintf(L, 200, __VA_ARGS__); \
    clean(n); \
    emit(n, L, viol); \
  } while (0)

template <class F> struct InstanceSteps {
  const State &s;
  F &emit;
  State n;
  char L[200];
  void all() {
    for (int i = 0; i < N; i++) {
      serve(i);
      fail(i);
      converge(i);
    }
    strangers();
  }
  // Writes, acknowledgements, replication.
  void serve(int i) {
    const Inst &a = s.in[i];
    if (a.st == UP && a.role == PRIM) {
      if (s.nw < W) {
        n = s;
        u8 t = 1 << s.nw;
        n.wep[s.nw] = a.ae;
        if (M[GTID_REUSE]) {
          int q = 0;
          for (;; q++) {
            bool u = false;
            for (int z = 0; z < 4; z++)
              if ((a.held >> z & 1) && s.cls[z] == i * 4 + q + 1) u = true;
            if (!u) break;
          }
          n.cls[s.nw] = i * 4 + q + 1;
        }
        n.in[i].held |= t;
        n.nw++;
        GO(0, "%d writes w%d (epoch %d)", i, s.nw, a.ae);
      }
      u8 wait = a.held & ~a.comm;
      if (wait) {
        int t = __builtin_ctz(wait);
        int c = 0;
        for (int x = 0; x < N; x++) c += a.acks[x] >> t & 1;
        if (c >= a.kp) {
          n = s;
          n.in[i].comm |= 1 << t;
          n.acked |= 1 << t;
          GO(0, "%d acknowledges w%d to its client (record epoch %d)", i, t, s.r.ep);
        }
      }
    }
    if (a.role == REPL && a.src < N && flows(s, i, a.src)) {
      bool cn = conn(s, i, a.src);
      int p = a.src;
      u8 d = miss(s, s.in[p].held, a.held);
      if (d) {
        n = s;
        u8 t = d & -d;
        n.in[i].held |= t;
        n.in[i].comm |= t;
        if (a.ss && cn) n.in[p].acks[i] |= s.in[p].held & ~miss(s, s.in[p].held, n.in[i].held);
        GO(0, "%d receives w%d from %d%s", i, __builtin_ctz(t), p, a.ss && cn ? " and acks" : "");
      }
      if (a.ss && cn) {
        n = s;
        n.in[p].acks[i] |= s.in[p].held & ~d;
        clean(n);
        if (n.in[p].acks[i] != s.in[p].acks[i]) GO(0, "%d re-acks to %d", i, p);
      }
    }
  }
  // What breaks: within the bound on faults.
  void fail(int i) {
    const Inst &a = s.in[i];
    // somebody's SIGTERM: the server tells every waiting client OK and goes down. Not covered (docs/why/safety.md): while a failover of this epoch has begun, or the agent lost before
    // the tail is safe.
    if (STOP && s.crash < CB && a.st == UP && a.role == PRIM && s.r.prim == i && s.r.ep == a.ae) {
      bool begun = false;
      for (int x = 0; x < N; x++)
        if (s.in[x].prom > a.ae) begun = true;
      if (!begun) {
        n = s;
        n.crash++;
        u8 tail = a.held & ~a.comm;
        n.acked |= tail;
        n.in[i].dirty = 1;
        kill_mysqld(n.in[i], AGENT);
        GO(0, "mysqld %d is stopped by a stranger, acknowledges %x", i, tail);
        if (tail) {
          n = s;
          n.crash++;
          n.acked |= tail;
          n.in[i].comm = a.held;
          n.in[i].dirty = 1;
          kill_mysqld(n.in[i], AGENT);
          GO(0, "mysqld %d is stopped by a stranger, acknowledges and commits %x", i, tail);
        }
      }
    }
    // the machine of a follower crashes: what it received and had not synced may be gone
    if (REBOOT && s.crash < CB && a.st != DOWN && (a.role == REPL || (M[REPORT_UNSYNCED] && a.role == NONE)))
      for (u8 lost = 0; lost < 16; lost++)
        if (!(lost & ~a.held) && !(lost && (a.held & ~lost) > lost) && !(a.kept && !M[KEEP_UNSYNCED] && (lost & a.syn))) {
          n = s;
          n.crash++;
          kill_mysqld(n.in[i], DOWN);
          Inst &b = n.in[i];
          b.held &= ~lost;
          b.comm &= b.held;
          b.forgot = !(M[KEEP_ORDERLY] && a.kept);
          GO(0, "machine of %d crashes, loses %x", i, lost);
        }
    if (a.forgot &&
        ((a.st == UP && a.role == REPL && a.src < N && s.in[a.src].st == UP && s.in[a.src].role == PRIM && s.in[a.src].ae == a.ae && !miss(s, s.in[a.src].held, a.held)) ||
         (M[FORGOT_CLEARED] && a.st == UP) || (M[CAUGHT_UP_WITH_C] && a.st == UP && a.role == REPL && a.src < N && s.in[a.src].st == UP && !miss(s, s.in[a.src].held, a.held)))) {
      n = s;
      n.in[i].forgot = 0;
      GO(0, "%d has caught up again", i);
    }
    if (a.dirty && a.st == UP && a.role == PRIM) {
      int c = 0;
      for (int x = 0; x < N; x++)
        if (conn(s, x, i) && s.in[x].ss && !miss(s, a.held, s.in[x].held)) c++;
      if (c >= a.kp || M[STOP_NO_MARKER]) {
        n = s;
        n.in[i].dirty = 0;
        GO(0, "marker of %d acknowledged: its tail is safe", i);
      }
    }
    if (a.dirty && i != s.r.prim && !miss(s, a.held, s.in[s.r.prim].held)) {
      n = s;
      n.in[i].dirty = 0;
      GO(0, "%d: the primary holds its tail", i);
    }
    if (s.crash < CB) {
      if (a.st == UP) {
        n = s;
        n.crash++;
        kill_mysqld(n.in[i], AGENT);
        GO(0, "mysqld %d crashes", i);
      }
      if (a.st != DOWN && !a.dirty) {
        n = s;
        n.crash++;
        kill_mysqld(n.in[i], DOWN);
        if (M[PROM_VOLATILE]) n.in[i].prom = n.in[i].ae;
        if (M[FENCE_VOLATILE]) n.in[i].fr = 0;
        GO(0, "instance %d crashes", i);
        if (M[DISK_LOSS]) {
          Inst &b = n.in[i];
          b.held = b.comm = 0;
          b.prom = b.fr = 0;
          b.role = NONE;
          GO(0, "instance %d crashes and loses its disk", i);
        }
      }
    }
    if (VOLUMES && s.crash < CB && !a.gone && a.role != PRIM && i != s.r.prim) {
      bool cand = false;
      for (int k = 0; k < NM; k++)
        if (s.m[k].pc != READY && s.m[k].x == i) cand = true;
      if (!cand) {
        n = s;
        n.crash++;
        n.in[i] = Inst{};
        n.in[i].src = 7;
        n.in[i].gone = 1;
        GO(0, "instance %d loses its volume", i);
      }
    }
    if (a.gone) {
      // A member is an instance and its volume: orders meant for the lost one are refused. Here both have one name, so the new one waits until nobody means the old one.
      bool named = (s.r.S >> i & 1) || s.r.prim == i;
      for (int k = 0; k < NM; k++)
        if ((s.m[k].v.S >> i & 1) || s.m[k].v.prim == i) named = true;
      if (!named) {
        n = s;
        n.in[i].gone = 0;
        n.in[i].st = AGENT;
        GO(0, "%d comes back as a new member, empty", i);
      }
    }
  }
  // What an agent does without being told.
  void converge(int i) {
    const Inst &a = s.in[i];
    if (a.st == DOWN && !NOREC && !a.gone) {
      n = s;
      n.in[i].st = AGENT;
      GO(0, "agent %d returns", i);
    }
    if (a.st == AGENT) {
      n = s;
      n.in[i].st = UP;
      n.in[i].comm = a.held;
      GO(0, "mysqld %d starts (read-only, semi-sync off; prepared tail commits)", i);
    }
    if (a.st == UP && a.role == CLOSED && a.prom == a.ae) {
      n = s;
      n.in[i].role = PRIM;
      GO(0, "agent %d reopens its primary in epoch %d", i, a.ae);
    }
    // agent: what it promised is newer than what mysqld does -> stop it
    if (a.prom > a.ae) {
      if (a.role == REPL) {
        n = s;
        n.in[i].role = NONE;
        GO(0, "agent %d stops IO thread, semi-sync off", i);
      }
      if (a.role == CLOSED) {
        n = s;
        n.in[i].role = NONE;
        GO(0, "agent %d drops the primary role", i);
      }
      if (a.role == PRIM && !M[P_SOFT]) {
        n = s;
        kill_mysqld(n.in[i], AGENT);
        n.in[i].role = NONE;
        GO(0, "agent %d kills its mysqld (fence)", i);
        if (a.comm == a.held) {
          n = s;
          n.in[i].role = NONE;
          GO(0, "agent %d demotes, nothing waiting", i);
        } else if (M[NO_KILL_TAIL]) {
          n = s;
          n.in[i].role = NONE;
          n.in[i].comm = a.held;
          n.acked |= a.held & ~a.comm;
          GO(0, "agent %d demotes by switching semi-sync off: waiting writes commit and answer", i);
        }
      }
    }
  }
  // Hand-made writes on a replica; a record store restored from a backup.
  void strangers() {
    if (ERR && s.nw < W && s.crash < CB)
      for (int x = 0; x < N; x++)
        if (s.in[x].st == UP && s.in[x].role == REPL) {
          n = s;
          n.crash++;
          u8 t = 1 << s.nw;
          n.wep[s.nw] = s.in[x].ae;
          n.in[x].held |= t;
          n.in[x].comm |= t;
          n.nw++;
          GO(0, "somebody writes w%d on replica %d by hand", s.nw, x);
        }
    if (RESTORE && !s.rest && s.r.rev > 1) {
      n = s;
      n.rest = 1;
      Rec q{1, 1, 0, (u8)(((1 << N) - 1) & ~1), (u8)(((1 << N) - 1) & ~1), (u8)K0, (u8)K0, 0};
      n.r = q;
      for (int k = 0; k < NM; k++) n.m[k] = Mgr{READY, 7, n.r, 0, 0, 0, 0, 0};
      GO(0, "record store is restored from a backup: epoch 1 rev 1 primary 0 (instance names are of the start; symmetry may rename)");
    }
  }
};
