// What must hold in every state, and what counts as being well.
#pragma once
#include "state.hpp"
static const char *VN[] = {"",
                           "S1 acknowledged write missing from the primary of the record",
                           "S2 an old primary can still collect k acknowledgements",
                           "S3 an acknowledged write held by fewer than k of S",
                           "S4 a trimmed tail holds an acknowledged write",
                           "S3 A not subset of S",
                           "S4 undetected errant: follower or member holds what the primary has not",
                           "WITNESS a kept member's acknowledgement answered a client of the new primary"};
static int check0(const State &s);
static bool WITNESS = false;
static int check(const State &s) {
  if (WITNESS) {
    if (s.r.ep > 1)
      for (int x = 0; x < N; x++)
        if (s.in[x].kept && (s.r.S >> x & 1) && s.in[x].src == s.r.prim && s.in[x].prom == s.r.ep)
          for (int t = 0; t < s.nw; t++)
            if ((s.acked >> t & 1) && s.wep[t] == s.r.ep) return 7;
    return 0;
  }
  int v = check0(s);
  return ONLY ? ((ONLY == 1 ? (s.acked & ~s.in[s.r.prim].held) != 0 : v == ONLY) ? ONLY : 0) : v;
}
static int check0(const State &s) {
  const Rec &r = s.r;
  const Inst &P = s.in[r.prim];
  if (RESTORE && s.rest) {
    for (int i = 0; i < N; i++) {
      const Inst &a = s.in[i];
      int c = 0;
      for (int x = 0; x < N; x++)
        if (conn(s, x, i) && s.in[x].ss) c++;
      if (a.st == UP && a.role == PRIM && (s.acked & ~a.held) && s.in[r.prim].prom >= a.ae && i == r.prim && a.ae == r.ep && c >= a.kp) return 1;
    }
    return 0;
  }
  if (s.acked & ~P.held) return 1;
  for (int i = 0; i < N; i++) {
    const Inst &a = s.in[i];
    if (a.st != UP || a.role != PRIM) continue;
    int c = 0;
    u8 A = 0;
    for (int x = 0; x < N; x++)
      if (conn(s, x, i) && s.in[x].ss) {
        c++;
        A |= 1 << x;
      }
    if (a.ae < r.ep && i != r.prim && c >= a.kp) return 2;
    if (i == r.prim && a.ae == r.ep && (A & ~r.S)) return 5;
  }
  if (pc8(r.S) >= r.k && !P.dirty)
    for (int t = 0; t < s.nw; t++)
      if (s.acked >> t & 1) {
        int c = 0;
        for (int x = 0; x < N; x++)
          if ((r.S >> x & 1) && ((s.in[x].held >> t & 1) || s.in[x].forgot || s.in[x].gone)) c++;
        if (c < r.k) return 3;
      }
  for (int x = 0; x < N; x++) {
    const Inst &a = s.in[x];
    bool fol = (a.role == REPL && a.ae == r.ep && a.src == r.prim) || (GATHER && P.ae == r.ep && conn(s, x, r.prim));
    if ((fol || (r.S >> x & 1)) && (a.held & ~P.held)) return 6;
  }
  return 0;
}
static bool good(const State &s) {
  const Rec &r = s.r;
  const Inst &P = s.in[r.prim];
  if (P.st != UP || P.role != PRIM || P.ae != r.ep || P.prom != P.ae) return false;
  int c = 0;
  for (int x = 0; x < N; x++)
    if (conn(s, x, r.prim) && s.in[x].ss && s.in[x].prom == r.ep) c++;
  return c >= P.kp;
}
static void show(const State &s) {
  printf("   record ep=%d rev=%d P=%d S=%x gate=%x k=%d kp=%d c=%d g=%x acked=%x |", s.r.ep, s.r.rev, s.r.prim, s.r.S, s.r.gate, s.r.k, s.r.kp, s.r.c == 7 ? -1 : s.r.c, s.r.g,
         s.acked);
  for (int i = 0; i < N; i++) {
    const Inst &a = s.in[i];
    printf(" %d:%s/%s prom%d ae%d src%d ss%d held%x comm%x open%x kp%d%s%s%s;", i,
           a.st == 0   ? "down"
           : a.st == 1 ? "agent"
                       : "up",
           a.role == 0   ? "-"
           : a.role == 1 ? "R"
           : a.role == 2 ? "P"
                         : "closed",
           a.prom, a.ae, a.src == 7 ? -1 : a.src, a.ss, a.held, a.comm, a.open, a.kp, a.kept ? " kept" : "", a.forgot ? " forgot" : "", a.gone ? " gone" : "");
  }
  puts("");
}
// Where a run begins.
static State init() {
  State s{};
  s.r = Rec{1, 1, 0, (u8)(((1 << N) - 1) & ~1), (u8)(((1 << N) - 1) & ~1), (u8)K0, (u8)K0};
  for (int i = 0; i < N; i++) {
    Inst &a = s.in[i];
    a.st = UP;
    a.prom = 1;
    a.fr = 1;
    a.ae = 1;
    a.src = 7;
    if (i == 0) {
      a.role = PRIM;
      a.open = s.r.gate;
      a.kp = K0;
    } else {
      a.role = REPL;
      a.src = 0;
      a.ss = 1;
    }
  }
  if (START == 1) { // epoch 2, S empty, primary 0 holds acknowledged w0; instance 1 holds errant w1; others empty
    s.r.ep = s.r.rev = 2;
    s.r.S = s.r.gate = 0;
    s.nw = 2;
    s.wep[0] = s.wep[1] = 1;
    s.acked = 1;
    if (M[GTID_REUSE]) {
      s.cls[0] = 5;
      s.cls[1] = 6;
    }
    for (int i = 0; i < N; i++) {
      Inst &a = s.in[i];
      a.prom = a.fr = 2;
      if (i == 0) {
        a.ae = 2;
        a.open = 0;
        a.held = a.comm = 1;
      } else {
        a.role = NONE;
        a.ae = 0;
        a.held = a.comm = i == 1 ? 2 : 0;
      }
    }
  }
  if (START == 2) { // k=2, epoch 2, S={1}: below k, 1 holds nothing; primary 0 holds acknowledged w0
    s.r.ep = s.r.rev = 2;
    s.r.S = s.r.gate = 2;
    s.nw = 1;
    s.wep[0] = 1;
    s.acked = 1;
    for (int i = 0; i < N; i++) {
      Inst &a = s.in[i];
      a.prom = a.fr = 2;
      if (i == 0) {
        a.ae = 2;
        a.open = 2;
        a.held = a.comm = 1;
      } else {
        a.role = i == 1 ? REPL : NONE;
        a.ae = 2;
        a.ss = 1;
        a.held = a.comm = 0;
      }
    }
  }
  if (START == 3) { // N=4 k=2, epoch 2, primary 1; dead old primary 0 has prepared, unacknowledged w0; 3 received w0 and promised nothing
    s.r.ep = s.r.rev = 2;
    s.r.S = s.r.gate = 0;
    s.r.prim = 1;
    s.nw = 1;
    s.wep[0] = 1;
    if (M[GTID_REUSE]) s.cls[0] = 1;
    for (int i = 0; i < N; i++) {
      Inst &a = s.in[i];
      a.prom = a.fr = 2;
      a.role = NONE;
      a.ae = 0;
      a.held = a.comm = 0;
    }
    s.in[0].st = AGENT;
    s.in[0].held = 1;
    s.in[0].prom = 1;
    s.in[0].fr = 1;
    s.in[3].prom = s.in[3].fr = 1;
    s.in[3].held = s.in[3].comm = 1;
  }
  if (START == 4) { // a switchover from 0 to 1 that gathered 2 is committed; 1 is not open yet, 2 was told nothing of epoch 2 and still receives from 1
    s.r.ep = 2;
    s.r.rev = 3;
    s.r.prim = 1;
    s.r.S = s.r.gate = (u8)(((1 << N) - 1) & ~2);
    for (int i = 0; i < N; i++) {
      Inst &a = s.in[i];
      a.prom = 2;
      a.fr = 2;
      a.role = NONE;
      a.ae = 1;
      a.src = 7;
      if (i == 2) {
        a.role = REPL;
        a.src = 1;
        a.ss = 1;
        a.kept = 1;
      }
    }
  }
  for (int k = 0; k < NM; k++) s.m[k] = Mgr{READY, 7, s.r, 0, 0, 0, 0, 0};
  clean(s);
  return s;
}
