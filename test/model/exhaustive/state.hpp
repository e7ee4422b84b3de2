// What the model knows of a cluster, and the small questions everything asks of it.
#pragma once
#include "options.hpp"
enum { DOWN, AGENT, UP };          // instance down | agent alive, mysqld dead | both up
enum { NONE, REPL, PRIM, CLOSED }; // role in mysqld; CLOSED = was primary, mysqld restarted, not yet reopened
// gate ⊆ S: members P may count (S\gate = leaving). kp = what P must wait for, >= k. it = an intent stands; c, g = the candidate of a switchover (7: none) and whom it gathers.
struct Rec {
  u8 ep, rev, prim, S, gate, k, kp, it, c = 7, g = 0;
};
// prom, fr, dirty are durable. fr = the newest revision acted on; ae = the epoch it acts in; ss = semi-sync; held = executed or received; comm = executed; open = gates.
// dirty = a shutdown nobody ordered: its tail may have been acknowledged. forgot = its machine crashed while it followed: relay log not synced.
// kept = promised and goes on receiving from the candidate; syn = what it reported then. gone = volume lost: the member answers no more.
struct Inst {
  u8 st, prom, fr, ae, role, src, ss, held, comm, open, kp, dirty, forgot, kept, syn, gone, acks[5];
};
// A manager: idle | F1 revokes, F2 elects, F3 commits (…I: under an intent) | A1 adds, R1 removes, K1 raises k, L1 lowers k (each while it waits for proof) | RS re-seeds.
enum { READY, F1, F2, F3, A1, R1, K1, RS, F2I, L1, F3I };
// v = the record it knows; x = whom it is about; Q = who promised; U = what must be held; C = the candidate's set; T = who is seen to hold it; F = who stored that it is not
// counted.
struct Mgr {
  u8 pc, x;
  Rec v;
  u8 Q, U, C, T, F;
};
struct State {
  Inst in[5];
  Rec r;
  Mgr m[2];
  u8 acked, nw, wep[4], cls[4], crash, rest;
};
static int pc8(int x) { return __builtin_popcount(x); }
static int SZ;
static void pack(const State &s, const int *p, u8 *o) { // p[i] = new index of instance i
  int inv[5];
  for (int i = 0; i < N; i++) inv[p[i]] = i;
  u8 mt[32];
  for (int m = 0; m < (1 << N); m++) {
    u8 q = 0;
    for (int i = 0; i < N; i++)
      if (m >> i & 1) q |= 1 << p[i];
    mt[m] = q;
  }
  for (int j = 0; j < N; j++) {
    const Inst &a = s.in[inv[j]];
    *o++ = a.st | a.role << 2 | a.ss << 4 | a.kp << 5;
    *o++ = a.prom | a.ae << 4;
    *o++ = a.fr | (a.src == 7 ? 7 : p[a.src]) << 5;
    *o++ = a.held | a.comm << 4;
    *o++ = mt[a.open] | a.dirty << 7 | a.forgot << 6 | a.kept << 5;
    if (GATHER || VOLUMES) *o++ = a.syn | a.gone << 4;
    for (int l = 0; l < N; l++) *o++ = a.acks[inv[l]];
  }
  auto rec = [&](const Rec &r, u8 *&o) {
    *o++ = r.ep | r.it << 3 | r.k << 4 | r.kp << 6;
    *o++ = r.rev | (p[r.prim] << 5);
    *o++ = mt[r.S] | (r.c == 7 ? 7 : p[r.c]) << 5;
    *o++ = mt[r.gate];
    if (GATHER) *o++ = mt[r.g];
  };
  rec(s.r, o);
  u8 b[2][20];
  int L = 0;
  for (int k = 0; k < NM; k++) {
    const Mgr &m = s.m[k];
    u8 *q = b[k];
    *q++ = m.pc | (m.x == 7 ? 7 : p[m.x]) << 4;
    rec(m.v, q);
    *q++ = mt[m.Q];
    *q++ = m.U | m.C << 4;
    *q++ = mt[m.T];
    *q++ = mt[m.F];
    L = q - b[k];
  }
  if (NM == 2 && memcmp(b[0], b[1], L) > 0) {
    memcpy(o, b[1], L);
    o += L;
    memcpy(o, b[0], L);
    o += L;
  } else
    for (int k = 0; k < NM; k++) {
      memcpy(o, b[k], L);
      o += L;
    }
  *o++ = s.acked | s.nw << 4 | s.rest << 7;
  *o++ = s.crash;
  *o++ = s.wep[0] | s.wep[1] << 4;
  *o++ = s.wep[2] | s.wep[3] << 4;
  if (M[GTID_REUSE])
    for (int t = 0; t < 4; t++) *o++ = s.cls[t] ? (p[(s.cls[t] - 1) >> 2] << 2 | ((s.cls[t] - 1) & 3)) + 1 : 0;
}
static void unpack(const u8 *o, State &s) {
  s = State{};
  for (int j = 0; j < N; j++) {
    Inst &a = s.in[j];
    a.st = *o & 3;
    a.role = *o >> 2 & 3;
    a.ss = *o >> 4 & 1;
    a.kp = *o >> 5;
    o++;
    a.prom = *o & 15;
    a.ae = *o >> 4;
    o++;
    a.fr = *o & 31;
    a.src = *o >> 5;
    o++;
    a.held = *o & 15;
    a.comm = *o >> 4;
    o++;
    a.open = *o & 31;
    a.dirty = *o >> 7;
    a.forgot = *o >> 6 & 1;
    a.kept = *o >> 5 & 1;
    o++;
    if (GATHER || VOLUMES) {
      a.syn = *o & 15;
      a.gone = *o >> 4;
      o++;
    }
    for (int l = 0; l < N; l++) a.acks[l] = *o++;
  }
  auto rec = [&](Rec &r) {
    r.ep = *o & 7;
    r.it = *o >> 3 & 1;
    r.k = *o >> 4 & 3;
    r.kp = *o >> 6;
    o++;
    r.rev = *o & 31;
    r.prim = *o >> 5;
    o++;
    r.S = *o & 31;
    r.c = *o >> 5;
    o++;
    r.gate = *o++;
    if (GATHER) r.g = *o++;
  };
  rec(s.r);
  for (int k = 0; k < NM; k++) {
    Mgr &m = s.m[k];
    m.pc = *o & 15;
    m.x = *o >> 4;
    o++;
    rec(m.v);
    m.Q = *o++;
    m.U = *o & 15;
    m.C = *o >> 4;
    o++;
    m.T = *o++;
    m.F = *o++;
  }
  s.acked = *o & 15;
  s.nw = *o >> 4 & 7;
  s.rest = *o >> 7;
  o++;
  s.crash = *o++;
  s.wep[0] = *o & 15;
  s.wep[1] = *o >> 4;
  o++;
  s.wep[2] = *o & 15;
  s.wep[3] = *o >> 4;
  o++;
  if (M[GTID_REUSE])
    for (int t = 0; t < 4; t++) s.cls[t] = *o++;
}
static vector<vector<int>> PERM;
static void canon(const State &s, u8 *best) {
  u8 tmp[160];
  bool first = true;
  for (auto &p : PERM) {
    pack(s, p.data(), tmp);
    if (first || memcmp(tmp, best, SZ) < 0) {
      memcpy(best, tmp, SZ);
      first = false;
    }
  }
}
// writes of a that b lacks, as the servers see it: by GTID
static u8 miss(const State &s, u8 a, u8 b) {
  u8 d = a & ~b;
  if (!M[GTID_REUSE] || !d) return d;
  for (int t = 0; t < 4; t++)
    if (d >> t & 1)
      for (int u = 0; u < 4; u++)
        if ((b >> u & 1) && s.cls[u] == s.cls[t]) d &= ~(1 << t);
  return d;
}
static void clean(State &s) {
  for (int i = 0; i < N; i++) {
    Inst &a = s.in[i];
    if (a.role == NONE) {
      a.ae = 0;
      a.kp = 0;
      a.src = 7;
      a.ss = 0;
      if (!M[KEEP_GATES]) a.open = 0;
    }
    if (a.role == REPL) {
      a.kp = 0;
      if (!M[KEEP_GATES]) a.open = 0;
    }
    if (a.role == PRIM || a.role == CLOSED) {
      a.src = 7;
      a.ss = 0;
    }
    for (int j = 0; j < N; j++) a.acks[j] = a.role == PRIM ? a.acks[j] & a.held & ~a.comm : 0;
    if (a.role != REPL) a.kept = 0;
    if (!a.kept) a.syn = 0;
    if (M[NO_REVFENCE]) a.fr = 0;
  }
}
static void kill_mysqld(Inst &a, int to) {
  a.st = to;
  if (a.role == PRIM) a.role = CLOSED;
  else if (a.role == REPL) a.role = NONE;
  memset(a.acks, 0, 5);
}
static bool conn(const State &s, int x, int p) {
  const Inst &a = s.in[x], &b = s.in[p];
  return a.st == UP && a.role == REPL && a.src == p && b.st == UP && b.role == PRIM && (b.open >> x & 1);
}
// Something flows: from a primary through its gate; or from an instance that is no primary (a candidate to those it gathers, a demoted primary to its followers). Only what a
// primary counts is an acknowledgement.
static bool flows(const State &s, int x, int p) {
  const Inst &a = s.in[x], &b = s.in[p];
  return conn(s, x, p) || (GATHER && a.st == UP && a.role == REPL && a.src == p && b.st == UP && (b.role == REPL || b.role == NONE));
}
// What an agent checks on every order: never older than its promise, never older than the newest record revision it acted on.
static bool ok(const Inst &a, const Rec &v) {
  if (!M[NO_EPOCH_FENCE] && v.ep < a.prom) return false;
  if (!M[NO_REVFENCE] && v.rev < a.fr) return false;
  return true;
}
static void acc(Inst &a, const Rec &v) {
  a.prom = max(a.prom, v.ep);
  a.fr = max(a.fr, v.rev);
}
static const char *PN[] = {"ready", "F1", "F2", "F3", "A1", "R1", "K1", "RS", "F2", "L1", "F3"};
