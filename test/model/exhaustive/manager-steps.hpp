// Steps of a manager: orders, membership, k, switchover, revocation, election, commit.
#pragma once
#include "instance-steps.hpp"

template <class F> struct ManagerSteps {
  const State &s;
  F &emit;
  const int k;
  const Mgr &m = s.m[k];
  const Rec &v = m.v;
  const Inst &P = s.in[v.prim];
  const int ep1 = v.ep + 1;
  State n;
  char L[200];
  void all() {
    reread();
    if (m.pc == READY) {
      assignPrimary();
      for (int x = 0; x < N; x++)
        if (x != v.prim) {
          orderReplica(x);
          changeMembership(x);
        }
      beginSwitchover();
      changeAcks();
      beginRevocation();
    }
    reseed();
    gather();
    revoke();
    askOutsiders();
    catchUp();
    commit();
    collectEvidence();
  }
  bool cas(State &n, Rec nr) const {
    bool okc = M[CAS_EPOCH_ONLY] ? s.r.ep == v.ep : s.r.rev == v.rev;
    if (!okc || s.r.rev >= R) return false;
    nr.rev = s.r.rev + 1;
    nr.it = 0;
    if (!M[INTENT_STAYS] || nr.ep != s.r.ep) {
      nr.c = 7;
      nr.g = 0;
    }
    n.r = nr;
    n.m[k] = Mgr{READY, 7, nr, 0, 0, 0, 0, 0};
    return true;
  }
  void reread() {
    // re-read the record = give up, or die and be replaced
    {
      n = s;
      n.m[k] = Mgr{READY, 7, s.r, 0, 0, 0, 0, 0};
      if (memcmp(&n.m[k], &m, sizeof m)) GO(0, "m%d: reads record (gives up %s of rev %d)", k, PN[m.pc], v.rev);
    }
  }
  void assignPrimary() {
    // assign primary: gate set, k, open for writes
    if (P.st == UP && ok(P, v) && !(P.role == PRIM && P.ae > v.ep)) {
      n = s;
      Inst &a = n.in[v.prim];
      acc(a, v);
      u8 oldopen = a.open;
      if (a.role != PRIM) {
        a.comm = a.held;
        a.role = PRIM;
        memset(a.acks, 0, 5);
      }
      a.ae = v.ep;
      a.kp = v.kp;
      a.open = (M[NO_LEAVING] ? v.S : v.gate) | m.F;
      if (M[KEEP_GATES] && P.role != PRIM) a.open |= oldopen & ~(1 << v.prim);
      if (M[FOLLOW_COUNTED]) a.open = ((1 << N) - 1) & ~(1 << v.prim);
      if (M[OPEN_UNCLEAN])
        for (int x = 0; x < N; x++)
          if (flows(s, x, v.prim)) a.open |= 1 << x; // whoever is connected stays so

      GO(0, "m%d: assign %d primary epoch %d rev %d gate %x k %d", k, v.prim, v.ep, v.rev, a.open, v.kp);
    }
  }
  void orderReplica(int x) {
    const Inst &a = s.in[x];
    u8 b = 1 << x;
    if (a.st >= AGENT && ok(a, v) && (a.role == PRIM || a.role == CLOSED) && a.prom <= v.ep && a.ae < v.ep) {
      n = s;
      acc(n.in[x], v);
      if (memcmp(&n, &s, sizeof n)) GO(0, "m%d: tells old primary %d of epoch %d", k, x, v.ep);
    }
    // assign replica: repoint + semi-sync on iff a counted member; refuses when it has transactions the primary lacks
    if (!(v.g & b) && a.st == UP && ok(a, v) && a.role != PRIM && a.role != CLOSED && (M[NO_ERRANT_CHECK] || !miss(s, a.held, P.held))) {
      n = s;
      Inst &c = n.in[x];
      acc(c, v);
      c.role = REPL;
      c.kept = 0;
      c.ae = v.ep;
      c.src = v.prim;
      c.ss = (M[ACCT_ONLY] || M[FOLLOW_COUNTED]) ? 1 : (v.gate >> x & 1);
      if (!c.ss) n.m[k].F |= b;
      if (memcmp(&n, &s, sizeof n)) GO(0, "m%d: assign %d replica of %d epoch %d rev %d semisync %d", k, x, v.prim, v.ep, v.rev, c.ss);
      if (REPOINT && a.ae != v.ep)
        for (u8 lost = 1; lost < 16; lost++)
          if (!(lost & ~a.held) && !((a.held & ~lost) > lost)) {
            n = s;
            Inst &c = n.in[x];
            acc(c, v);
            c.role = REPL;
            c.ae = v.ep;
            c.src = v.prim;
            c.ss = (v.gate >> x & 1);
            if (!c.ss) n.m[k].F |= b;
            c.held &= ~lost;
            c.comm = c.held;
            GO(0, "m%d: assign %d replica of %d epoch %d rev %d, CHANGE REPLICATION SOURCE drops relay log %x", k, x, v.prim, v.ep, v.rev, lost);
          }
    }
    // trim the prepared tail of a returning primary, before mysqld starts
    bool tf = M[TRIM_UNFENCED] || ok(a, v);
    if (a.st == AGENT && a.role != REPL && tf && P.st == UP && (!a.dirty || M[STOP_TRIM]) && (a.held & ~a.comm)) {
      u8 cut = miss(s, a.held & ~a.comm, P.held);
      if (cut) {
        n = s;
        Inst &c = n.in[x];
        if (ok(a, v)) acc(c, v);
        c.role = NONE;
        c.held &= ~cut;
        c.comm = c.held;
        GO((cut & s.acked) ? 4 : 0, "m%d: %d trims tail %x against %d (epoch %d)", k, x, cut, v.prim, v.ep);
      }
    }
    // re-seed: order names the exact set to be destroyed
    if (a.st == UP && a.role != PRIM && (M[RESEED_MEMBER] || !(v.S & b)) && miss(s, a.held, P.held)) {
      n = s;
      n.m[k].pc = RS;
      n.m[k].x = x;
      n.m[k].U = a.held;
      GO(0, "m%d: sees errant on %d, will re-seed (rev %d)", k, x, v.rev);
    }
  }
  void changeMembership(int x) {
    const Inst &a = s.in[x];
    u8 b = 1 << x;
    // add
    if (M[GATE_BEFORE_RECORD] && !(v.S & b) && a.role == REPL && a.src == v.prim && a.ae == v.ep && P.st == UP && P.role == PRIM && P.ae == v.ep && ok(P, v) && ok(a, v) &&
        !((P.open & b) && a.ss)) {
      n = s;
      n.in[v.prim].open |= b;
      n.in[x].ss = 1;
      GO(0, "m%d: opens %d's gate for %d (semi-sync on) before the record", k, v.prim, x);
    }
    if (!(v.S & b) && s.r.rev < R && a.st == UP && a.role == REPL && a.src == v.prim && a.ae == v.ep) {
      if (pc8(v.S) >= v.k || pc8(v.S) + 1 < v.k || M[ADD_NO_EVID]) {
        n = s;
        Rec q = v;
        q.S |= b;
        q.gate |= b;
        if (cas(n, q)) GO(0, "m%d: CAS add %d to S", k, x);
      } else if (P.st == UP) {
        n = s;
        n.m[k].pc = A1;
        n.m[k].x = x;
        n.m[k].U = P.held;
        n.m[k].T = 0;
        n.m[k].F = 0;
        GO(0, "m%d: add %d: notes G=%x", k, x, P.held);
      }
    }
    if (M[ADD_UNCHECKED] && !(v.S & b) && s.r.rev < R && pc8(v.S) >= v.k) {
      n = s;
      Rec q = v;
      q.S |= b;
      q.gate |= b;
      if (cas(n, q)) GO(0, "m%d: CAS add %d to S (not caught up)", k, x);
    }
    if ((v.S & b) && !(v.gate & b)) {
      n = s;
      Rec q = v;
      q.gate |= b;
      if (cas(n, q)) GO(0, "m%d: CAS cancels leaving of %d", k, x);
    }
    // remove
    if ((v.S & b) && pc8(v.S) - 1 >= max(v.k, v.kp) && s.r.rev < R) {
      bool applied = P.st == UP && P.role == PRIM && P.ae == v.ep && (M[NO_REVFENCE] || P.fr >= v.rev);
      if (M[REC_BEFORE_GATE]) {
        n = s;
        Rec q = v;
        q.S &= ~b;
        q.gate &= ~b;
        if (cas(n, q)) GO(0, "m%d: CAS remove %d from S, gate still open", k, x);
      } else if (M[NO_LEAVING]) {
        if (P.st == UP && P.role == PRIM && P.ae == v.ep && ok(P, v)) {
          n = s;
          Inst &c = n.in[v.prim];
          c.open &= ~b;
          acc(c, v);
          n.m[k].pc = R1;
          n.m[k].x = x;
          n.m[k].U = M[G_EXEC] ? P.comm : P.held;
          n.m[k].T = 0;
          n.m[k].F = 0;
          GO(0, "m%d: closes %d's gate for %d, notes G=%x", k, v.prim, x, n.m[k].U);
        }
      } else if (v.gate & b) {
        n = s;
        Rec q = v;
        q.gate &= ~b;
        if (cas(n, q)) GO(0, "m%d: CAS %d is leaving", k, x);
      } else if (applied && (!(P.open & b) || (m.F & b))) {
        n = s;
        n.m[k].pc = R1;
        n.m[k].x = x;
        n.m[k].U = M[G_EXEC] ? P.comm : P.held;
        n.m[k].T = 0;
        n.m[k].F = 0;
        GO(0, "m%d: remove %d: P's gate closed, notes G=%x", k, x, n.m[k].U);
      }
    }
    // decision 10: with |S| < k one that can never hold everything again leaves without a marker (here: anybody may)
    if ((v.S & b) && ((SMALL && pc8(v.S) < v.k) || M[LEAVE_UNMARKED]) && s.r.rev < R) {
      bool applied = P.st == UP && P.role == PRIM && P.ae == v.ep && P.fr >= v.rev;
      if (v.gate & b) {
        if (!(pc8(v.S) - 1 >= max(v.k, v.kp))) {
          n = s;
          Rec q = v;
          q.gate &= ~b;
          if (cas(n, q)) GO(0, "m%d: CAS %d is leaving the small set", k, x);
        }
      } else if (applied && (!(P.open & b) || (m.F & b))) {
        n = s;
        Rec q = v;
        q.S &= ~b;
        if (cas(n, q)) GO(0, "m%d: CAS %d leaves the small set without a marker", k, x);
      }
    }
  }
  void beginSwitchover() {
    if (v.g) {
      n = s;
      Rec q = v;
      if (cas(n, q)) GO(0, "m%d: CAS takes the switchover's intent away", k);
    }
    // switchover with gathering: the intent names the candidate and whom it gathers
    if (GATHER && v.ep < E && s.r.rev < R)
      for (int c = 0; c < N; c++)
        if ((v.gate >> c & 1) && s.in[c].st == UP && !s.in[c].forgot) {
          u8 pool = v.gate & ~(1 << c);
          for (u8 g = 1; g < (1 << N); g++)
            if (!(g & ~pool) && (M[TOO_MANY_GATHERED] || pc8(v.gate) - pc8(g) >= max(v.k, v.kp))) {
              n = s;
              Rec q = v;
              Mgr o = m;
              if (cas(n, q)) {
                n.r.it = 1;
                n.r.c = c;
                n.r.g = g;
                o.v = n.r;
                o.pc = F1;
                o.F = 0;
                n.m[k] = o;
                GO(0, "m%d: CAS switchover intent: candidate %d gathers %x", k, c, g);
              }
            }
        }
  }
  void changeAcks() {
    if (v.k < KMAX && s.r.rev < R && pc8(v.gate) > v.k) {
      if (M[RAISE_REC_FIRST]) {
        n = s;
        Rec q = v;
        q.k++;
        q.kp = q.k;
        if (cas(n, q)) GO(0, "m%d: CAS raise k to %d at once", k, q.k);
      } else if (v.kp == v.k) {
        n = s;
        Rec q = v;
        q.kp++;
        if (cas(n, q)) GO(0, "m%d: CAS P shall wait for %d", k, q.kp);
      } else if (P.st == UP && P.role == PRIM && P.ae == v.ep && P.kp >= v.kp && (M[NO_REVFENCE] || P.fr >= v.rev)) {
        n = s;
        n.m[k].pc = K1;
        n.m[k].U = P.held;
        n.m[k].T = 0;
        n.m[k].F = 0;
        GO(0, "m%d: raise k: P waits for %d, notes G=%x", k, P.kp, P.held);
      }
    }
    if (v.k > KMIN) {
      if (M[LOWER_P_FIRST]) {
        if (P.st == UP && P.role == PRIM && P.ae == v.ep && ok(P, v) && P.kp == v.k) {
          n = s;
          n.in[v.prim].kp = v.k - 1;
          GO(0, "m%d: tells P k=%d before the record", k, v.k - 1);
        }
      }
      if (pc8(v.S) >= v.k || v.k == 1 || M[LOWER_NO_EVID]) {
        n = s;
        Rec q = v;
        q.k--;
        q.kp = q.k;
        if (cas(n, q)) GO(0, "m%d: CAS lower k to %d", k, q.k);
      } else if (s.r.rev < R && P.st == UP) {
        n = s;
        n.m[k].pc = L1;
        n.m[k].U = P.held;
        n.m[k].T = 0;
        n.m[k].F = 0;
        GO(0, "m%d: lower k with |S|<k: notes G=%x", k, P.held);
      }
    }
  }
  void beginRevocation() {
    // bump: same primary, S, k, next epoch: gives members that promised v.ep+1 in vain back to P
    if (v.ep < E && !M[NO_BUMP]) {
      bool any = false;
      for (int x = 0; x < N; x++)
        if (s.in[x].prom > v.ep && s.in[x].st != DOWN) any = true;
      if (any) {
        n = s;
        Rec q = v;
        q.ep++;
        if (cas(n, q)) GO(0, "m%d: CAS bump to epoch %d, same primary", k, q.ep);
      }
    }
    if (v.ep < E && s.r.rev < R) {
      n = s;
      n.m[k].pc = F1;
      n.m[k].F = 0;
      if (!v.it) GO(0, "m%d: starts revoking epoch %d (rev %d)", k, v.ep, v.rev);
      else {
        Rec q = v;
        if (cas(n, q)) {
          n.r.it = 1;
          n.m[k].v.it = 1;
          n.m[k].pc = F1;
          GO(0, "m%d: CAS takes the election over (rev %d)", k, n.r.rev);
        }
      }
    }
  }
  void reseed() {
    if (m.pc == RS) {
      int x = m.x;
      const Inst &a = s.in[x];
      if (a.st == UP && a.role != PRIM && P.st == UP && ((M[RESEED_LOOSE] || M[RESEED_MEMBER]) ? v.ep >= a.prom : (ok(a, v) && a.held == m.U))) {
        n = s;
        Inst &c = n.in[x];
        acc(c, v);
        c.role = NONE;
        c.held = c.comm = 0;
        n.m[k] = Mgr{READY, 7, v, 0, 0, 0, 0, 0};
        GO(0, "m%d: %d archives and wipes", k, x);
      }
    }
  }
  void gather() {
    // the gathered follow the candidate while the intent stands
    if ((m.pc == READY || m.pc == F1) && v.g)
      for (int x = 0; x < N; x++)
        if (v.g >> x & 1) {
          const Inst &a = s.in[x];
          if (a.st == UP && ok(a, v) && a.role != PRIM && a.role != CLOSED && !miss(s, a.held, P.held)) {
            n = s;
            Inst &c = n.in[x];
            acc(c, v);
            c.role = REPL;
            c.kept = 0;
            c.ae = v.ep;
            c.src = v.c;
            c.ss = 1;
            if (memcmp(&n, &s, sizeof n)) GO(0, "m%d: %d is gathered: follows candidate %d (epoch %d rev %d)", k, x, v.c, v.ep, v.rev);
          }
        }
  }
  void revoke() {
    if (m.pc == F1) {
      for (int x = 0; x < N; x++) {
        const Inst &a = s.in[x];
        u8 b = 1 << x;
        bool mem = (v.S & b) || x == v.prim || M[NO_SK_GUARD] || M[Q_ANY];
        if (!mem || a.st == DOWN || (a.forgot && x != v.prim && !M[FORGOT_COUNTED])) continue;
        bool rf = M[NO_REVFENCE] || v.rev >= a.fr;
        if (!rf) continue;
        // under a switchover, once P's own report is in: who receives from the candidate goes on
        if ((v.g & b) && a.st == UP && a.role == REPL && (a.src == v.c || (M[KEEP_FROM_P] && a.src == v.prim)) && ((m.Q >> v.prim & 1) || M[KEEP_EARLY]) &&
            (a.prom < ep1 || (a.prom == ep1 && a.kept && !(m.Q & b)))) {
          n = s;
          Inst &c = n.in[x];
          c.prom = ep1;
          c.kept = 1;
          c.syn = c.held;
          c.fr = max(a.fr, v.rev);
          n.m[k].Q |= b;
          n.m[k].U |= a.held;
          GO(0, "m%d: %d promises %d, keeps receiving from %d, reports %x", k, x, ep1, a.src, a.held);
        }
        bool stopped = a.role == NONE || (M[PLAIN_KEEPS] && a.kept), soft = M[P_SOFT] && x == v.prim && a.role == PRIM, live = M[P_LIVE] && x == v.prim && a.role == PRIM,
             early = M[READ_BEFORE_STOP] && a.role == REPL;
        auto note = [&](State &n, u8 h) {
          n.in[x].fr = max(a.fr, v.rev);
          n.m[k].Q |= b;
          if (!(M[P_EMPTY_UNION] && x == v.prim)) n.m[k].U |= h;
        };
        if (a.prom < ep1 && (x == v.prim || a.st == UP)) {
          n = s;
          n.in[x].prom = ep1;
          if (FINE || soft || live || early || (x == v.prim && M[NO_KILL_TAIL])) {
            if (early || live) note(n, a.held);
            GO(0, "m%d: %d promises %d (on disk)%s", k, x, ep1, early || live ? " and reports what it holds" : "");
          } else {
            Inst &c = n.in[x];
            bool p = c.role == PRIM;
            note(n, a.held);
            if (M[PLAIN_KEEPS] && a.role == REPL && (a.kept || a.src != v.prim)) {
              c.kept = 1;
              c.syn = c.held;
              GO(0, "m%d: %d promises %d, goes on receiving from %d, reports %x", k, x, ep1, a.src, a.held);
              continue;
            }
            if (p && a.comm == a.held) {
              State n2 = n;
              kill_mysqld(n2.in[x], AGENT);
              n2.in[x].role = NONE;
              c.role = NONE;
              GO(0, "m%d: %d promises %d, demotes (nothing waits), reports %x", k, x, ep1, a.held);
              n = n2;
            }
            if (n.in[x].role == PRIM) kill_mysqld(n.in[x], AGENT);
            n.in[x].role = NONE;
            GO(0, "m%d: %d promises %d, %s, reports %x", k, x, ep1, p ? "kills its mysqld" : "stops", a.held);
          }
        } else if (!(m.Q & b) && a.prom == ep1 && a.kept && !stopped && a.st == UP) {
          n = s;
          n.in[x].role = NONE;
          note(n, a.held);
          GO(0, "m%d: %d stops its kept receiver under promise %d, reports %x", k, x, ep1, a.held);
        } else if (!(m.Q & b) && a.prom == ep1 && (stopped || soft) && (x == v.prim || a.st == UP)) {
          n = s;
          note(n, soft ? a.comm : a.held);
          GO(0, "m%d: %d reports promise %d, holds %x", k, x, ep1, soft ? a.comm : a.held);
        }
      }
      int q = pc8(m.Q & (M[Q_ANY] ? ~(1 << v.prim) : v.S)), need = pc8(v.S) - v.k + 1 - (M[QUORUM_LESS] ? 1 : 0);
      bool viaP = m.Q >> v.prim & 1;
      bool viaS = M[NO_SK_GUARD] ? (pc8(m.Q) >= max(1, need)) : (pc8(v.S) >= v.k && q >= need && q > 0 && (!P.dirty || M[STOP_VIA_S]));
      if (viaP || viaS)
        for (int c = 0; c < N; c++)
          if (((M[CAND_UNPROMISED] ? (m.Q | v.S) : m.Q) >> c & 1) && s.in[c].st == UP && (!v.g || c == v.c || c == v.prim || M[KEEP_OTHER])) {
            n = s;
            n.m[k].pc = v.g ? F2I : F2;
            n.m[k].x = c;
            GO(0, "m%d: revoked epoch %d by %x; candidate %d", k, v.ep, m.Q, c);
          }
    }
  }
  void askOutsiders() {
    // a non-member may be asked to promise too, so that it may become candidate when P's own disk is the source of truth
    if (m.pc == F1 && (m.Q >> v.prim & 1))
      for (int x = 0; x < N; x++) {
        const Inst &a = s.in[x];
        u8 b = 1 << x;
        if ((v.S & b) || x == v.prim || a.st != UP || a.forgot || (!M[NO_REVFENCE] && v.rev < a.fr)) continue;
        if (a.prom < ep1) {
          n = s;
          n.in[x].prom = ep1;
          if (n.in[x].role == REPL) n.in[x].role = NONE;
          GO(0, "m%d: outsider %d promises %d", k, x, ep1);
        } else if (a.prom == ep1 && a.role == NONE && !(m.Q & b) && !miss(s, a.held, s.in[v.prim].held)) {
          n = s;
          n.m[k].Q |= b;
          n.in[x].fr = max(a.fr, v.rev);
          GO(0, "m%d: outsider %d reports promise %d", k, x, ep1);
        }
      }
  }
  // The candidate fetches what it lacks of the union.
  void catchUp() {
    if (m.pc == F2 || m.pc == F2I) {
      int c = m.x;
      const Inst &a = s.in[c];
      u8 d = miss(s, m.U, a.held);
      if (d && m.pc == F2 && !M[NO_INTENT] && !M[NO_UNION]) {
        n = s;
        Rec q = v;
        Mgr o = m;
        if (cas(n, q)) {
          n.r.it = 1;
          o.v = n.r;
          o.pc = F2I;
          n.m[k] = o;
          GO(0, "m%d: CAS intent: candidate %d will fetch", k, c);
        }
      } else if (d && !M[NO_UNION] && a.st == UP && ((((a.prom == ep1 && a.role == NONE) || M[CAND_UNPROMISED]) && (M[NO_REVFENCE] || v.rev >= a.fr)) || M[CATCHUP_UNFENCED])) {
        u8 t = d & -d;
        for (int y = 0; y < N; y++)
          if ((m.Q >> y & 1) && y != c && s.in[y].st >= AGENT && (s.in[y].held & t)) {
            n = s;
            n.in[c].held |= t;
            n.in[c].comm |= t;
            n.in[c].fr = max(a.fr, v.rev);
            GO(0, "m%d: candidate %d fetches w%d from %d", k, c, __builtin_ctz(t), y);
          }
      }
      if ((!d || M[NO_UNION]) && a.st == UP) {
        n = s;
        n.m[k].pc = m.pc == F2I ? F3I : F3;
        n.m[k].C = a.held;
        n.m[k].T = 0;
        GO(0, "m%d: candidate %d holds the union %x", k, c, m.U);
      }
    }
  }
  void commit() {
    if (m.pc == F3 || m.pc == F3I) {
      int c = m.x;
      // bring members of the future S' up to the candidate before the commit (needs the intent, like every fetch)
      for (int y = 0; y < N; y++)
        if ((m.Q >> y & 1) && y != c && pc8(m.T) < v.k && s.in[c].st == UP && s.in[y].st == UP && s.in[y].prom == ep1 && s.in[y].role == NONE) {
          u8 d = miss(s, m.C, s.in[y].held);
          if (!d) continue;
          if (m.pc == F3 && !m.v.it && !M[NO_INTENT]) {
            n = s;
            Rec q = v;
            Mgr o = m;
            if (cas(n, q)) {
              n.r.it = 1;
              o.v = n.r;
              o.pc = F3I;
              n.m[k] = o;
              GO(0, "m%d: CAS intent: members will catch up with candidate %d", k, c);
            }
            break;
          } else if (m.pc == F3I || M[NO_INTENT])
            if (M[NO_REVFENCE] || v.rev >= s.in[y].fr) {
              u8 t = d & -d;
              n = s;
              n.in[y].held |= t;
              n.in[y].comm |= t;
              n.in[y].fr = max(n.in[y].fr, v.rev);
              GO(0, "m%d: future member %d fetches w%d from candidate %d", k, y, __builtin_ctz(t), c);
            }
        }
      for (int y = 0; y < N; y++)
        if (((m.Q | (M[GATHERED_UNPROMISED] ? v.g : 0)) >> y & 1) && y != c && !(m.T >> y & 1) && s.in[y].st >= AGENT && !miss(s, m.C, s.in[y].held) && s.in[y].prom <= ep1) {
          n = s;
          n.m[k].T |= 1 << y;
          GO(0, "m%d: %d holds the candidate's whole set", k, y);
        }
      // trimming against the candidate before the commit (mutation)
      if (M[TRIM_EARLY]) {
        const Inst &o = s.in[v.prim];
        if (o.st == AGENT && o.prom <= ep1 && c != v.prim) {
          u8 cut = (o.held & ~o.comm) & ~m.C;
          if (cut) {
            n = s;
            n.in[v.prim].held &= ~cut;
            n.in[v.prim].role = NONE;
            GO((cut & s.acked) ? 4 : 0, "m%d: %d trims %x against candidate %d before commit", k, v.prim, cut, c);
          }
        }
      }
      n = s;
      Rec q = v;
      q.ep = ep1;
      q.prim = c;
      q.kp = q.k;
      u8 pool = M[SPRIME_UNPROMISED] ? (u8)((v.S | m.Q) & ~(1 << c)) : (u8)((m.Q | (M[GATHERED_UNPROMISED] ? v.g : 0)) & ~(1 << c));
      q.S = q.gate = (pc8(m.T) >= q.k || M[NO_SPRIME]) ? pool : 0;
      if (c == v.prim && !M[NO_SPRIME]) {
        q.S = v.S;
        q.gate = v.gate;
        q.kp = v.kp;
      } // P itself: nothing changes hands, S and k stay
      bool ready = !M[EMPTY_FORBIDDEN] || c == v.prim || q.S; // option: S' may not be empty
      if (ready && cas(n, q)) GO(0, "m%d: COMMIT epoch %d primary %d S'=%x", k, ep1, c, q.S);
      // S' may also be chosen empty
    }
  }
  // k members seen to hold what the primary held, before the record changes.
  void collectEvidence() {
    if (m.pc == A1) {
      u8 mem = v.S | (1 << m.x);
      for (int y = 0; y < N; y++)
        if ((mem >> y & 1) && !(m.T >> y & 1) && s.in[y].st == UP && s.in[y].role == REPL && s.in[y].ae == v.ep && !miss(s, m.U, s.in[y].held)) {
          n = s;
          n.m[k].T |= 1 << y;
          GO(0, "m%d: %d holds G", k, y);
        }
      if (pc8(m.T) >= v.k) {
        n = s;
        Rec q = v;
        q.S |= 1 << m.x;
        q.gate |= 1 << m.x;
        if (cas(n, q)) GO(0, "m%d: CAS add %d, k hold everything", k, m.x);
      }
    }
    if (m.pc == R1) {
      u8 mem = M[OTHERS_ANY] ? ((1 << N) - 1) & ~(1 << m.x) & ~(1 << v.prim) : (M[NO_LEAVING] ? v.S : v.gate) & ~(1 << m.x);
      for (int y = 0; y < N; y++)
        if ((mem >> y & 1) && !(m.T >> y & 1) && s.in[y].st == UP && !miss(s, m.U, s.in[y].held)) {
          n = s;
          n.m[k].T |= 1 << y;
          GO(0, "m%d: %d holds G", k, y);
        }
      if (pc8(m.T) >= v.k || M[NO_KWAIT]) {
        n = s;
        Rec q = v;
        q.S &= ~(1 << m.x);
        q.gate &= ~(1 << m.x);
        if (cas(n, q)) GO(0, "m%d: CAS remove %d from S", k, m.x);
      }
    }
    if (m.pc == L1) {
      for (int y = 0; y < N; y++)
        if ((v.S >> y & 1) && !(m.T >> y & 1) && s.in[y].st == UP && s.in[y].role == REPL && s.in[y].ae == v.ep && !miss(s, m.U, s.in[y].held)) {
          n = s;
          n.m[k].T |= 1 << y;
          GO(0, "m%d: %d holds G", k, y);
        }
      if (pc8(m.T) >= v.k - 1) {
        n = s;
        Rec q = v;
        q.k--;
        q.kp = q.k;
        if (cas(n, q)) GO(0, "m%d: CAS lower k to %d", k, q.k);
      }
    }
    if (m.pc == K1) {
      for (int y = 0; y < N; y++)
        if ((v.S >> y & 1) && !(m.T >> y & 1) && s.in[y].st == UP && !miss(s, m.U, s.in[y].held)) {
          n = s;
          n.m[k].T |= 1 << y;
          GO(0, "m%d: %d holds G", k, y);
        }
      if (pc8(m.T) >= v.kp) {
        n = s;
        Rec q = v;
        q.k = q.kp;
        if (cas(n, q)) GO(0, "m%d: CAS raise k to %d", k, q.k);
      }
    }
  }
};

// Everything that can happen next.
template <class F> static void succ(const State &s, F emit) {
  InstanceSteps<F>{s, emit}.all();
  for (int k = 0; k < NM; k++) ManagerSteps<F>{s, emit, k}.all();
}
