// Explores the model of the protocol (docs/why/safety.md): every interleaving (breadth first), or random walks. See README.md.
#include "checks.hpp"
#include "manager-steps.hpp"
static vector<u8> store;
static vector<u32> par;
static vector<u32> tab;
static u64 mask;
static u64 hsh(const u8 *p) {
  u64 h = 1469598103934665603ull;
  int i = 0;
  for (; i + 8 <= SZ; i += 8) {
    u64 w;
    memcpy(&w, p + i, 8);
    h = (h ^ w) * 0x9E3779B97F4A7C15ull;
    h ^= h >> 32;
  }
  for (; i < SZ; i++) h = (h ^ p[i]) * 1099511628211ull;
  h ^= h >> 29;
  h *= 0xBF58476D1CE4E5B9ull;
  return h ^ (h >> 32);
}
static pair<u32, bool> insert(const u8 *p, u32 parent) {
  if (par.size() * 2 > tab.size()) {
    u64 ns = tab.size() * 2;
    vector<u32>().swap(tab);
    tab.assign(ns, 0);
    mask = ns - 1;
    for (u32 i = 0; i < par.size(); i++) {
      u64 h = hsh(&store[(u64)i * SZ]) & mask;
      while (tab[h]) h = (h + 1) & mask;
      tab[h] = i + 1;
    }
  }
  u64 h = hsh(p) & mask;
  while (tab[h]) {
    if (!memcmp(&store[(u64)(tab[h] - 1) * SZ], p, SZ)) return {tab[h] - 1, false};
    h = (h + 1) & mask;
  }
  u32 id = par.size();
  store.insert(store.end(), p, p + SZ);
  par.push_back(parent);
  tab[h] = id + 1;
  return {id, true};
}
static void trace(u32 id, const char *lastlabel, const State *last) {
  vector<u32> path;
  for (u32 i = id; i != ~0u; i = par[i]) path.push_back(i);
  reverse(path.begin(), path.end());
  State cur = init();
  u8 b[160];
  int stepn = 0;
  vector<string> Ls;
  for (size_t j = 1; j < path.size(); j++) {
    bool f = false;
    State nx;
    string lab;
    succ(cur, [&](const State &n, const char *L, int) {
      if (f) return;
      canon(n, b);
      if (!memcmp(b, &store[(u64)path[j] * SZ], SZ)) {
        f = true;
        nx = n;
        lab = L;
      }
    });
    if (!f) {
      puts("?? trace broken");
      return;
    }
    printf("  %2d. %s\n", ++stepn, lab.c_str());
    cur = nx;
  }
  if (last) { /* find the violating step from the concrete state */
    bool f = false;
    u8 t[160];
    canon(*last, t);
    succ(cur, [&](const State &n, const char *L, int) {
      if (f) return;
      canon(n, b);
      if (!memcmp(b, t, SZ)) {
        f = true;
        printf("  %2d. %s\n", ++stepn, L);
        show(n);
      }
    });
  } else show(cur);
}
int main(int argc, char **argv) {
  int mE = 2, mR = 5;
  for (int i = 1; i < argc; i++) {
    string a = argv[i];
    auto nx = [&] { return atoll(argv[++i]); };
    if (a == "-N") N = nx();
    else if (a == "-W") W = nx();
    else if (a == "-E") E = nx();
    else if (a == "-R") R = nx();
    else if (a == "-C") CB = nx();
    else if (a == "-k") K0 = KMIN = KMAX = nx();
    else if (a == "-kmin") KMIN = nx();
    else if (a == "-kmax") KMAX = nx();
    else if (a == "-nm") NM = nx();
    else if (a == "-cap") CAP = nx();
    else if (a == "-live") LIVE = true;
    else if (a == "-norec") NOREC = true;
    else if (a == "-sim") SIM = nx();
    else if (a == "-depth") DEPTH = nx();
    else if (a == "-seed") SEED = nx();
    else if (a == "-only") ONLY = nx();
    else if (a == "-start") START = nx();
    else if (a == "-fine") FINE = true;
    else if (a == "-stop") STOP = true;
    else if (a == "-reboot") REBOOT = true;
    else if (a == "-nosym") SYM = 0;
    else if (a == "-restore") RESTORE = true;
    else if (a == "-errant") ERR = true;
    else if (a == "-repoint") REPOINT = true;
    else if (a == "-gather") GATHER = true;
    else if (a == "-mutations") {
      for (auto &rule : MN) printf("%-20s %s\n", rule.name, rule.text);
      return 0;
    } else if (a == "-witness") WITNESS = true;
    else if (a == "-volumes") VOLUMES = true;
    else if (a == "-small") SMALL = true;
    else if (a == "-mE") mE = nx();
    else if (a == "-mR") mR = nx();
    else {
      bool f = false;
      for (int j = 0; j < NM_; j++)
        if (a == MN[j].name) { M[j] = f = true; }
      if (!f) {
        printf("unknown %s\n", a.c_str());
        return 2;
      }
    }
  }
  SZ = N * (5 + N + (GATHER || VOLUMES)) + 4 + NM * 9 + 4 + (GATHER ? 1 + NM : 0) + (M[GTID_REUSE] ? 4 : 0);
  vector<int> p;
  for (int i = 0; i < N; i++) p.push_back(i);
  if (SYM) {
    do PERM.push_back(p);
    while (next_permutation(p.begin(), p.end()));
  } else PERM.push_back(p);
  printf("N=%d k=%d(%d..%d) W=%d E=%d R=%d crashes=%d managers=%d mutations:", N, K0, KMIN, KMAX, W, E, R, CB, NM);
  for (int j = 0; j < NM_; j++)
    if (M[j]) printf(" %s", MN[j].name);
  puts("");
  fflush(stdout);
  auto t0 = chrono::steady_clock::now();
  auto sec = [&] { return chrono::duration<double>(chrono::steady_clock::now() - t0).count(); };
  if (SIM) {
    u64 x = SEED * 0x9E3779B97F4A7C15ull + 1, steps = 0, walks = 0, goods = 0, commits = 0;
    auto rnd = [&] {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      return x;
    };
    vector<State> nx;
    vector<string> Ls;
    vector<int> vs;
    vector<string> tr;
    while (sec() < SIM) {
      State s = init();
      walks++;
      tr.clear();
      u64 seed0 = x;
      for (int d = 0; d < DEPTH; d++) {
        // reservoir-pick one successor, weighting down crashes and re-reads
        State pick;
        int pv = 0;
        double tot = 0;
        bool have = false;
        static char PL[200];
        succ(s, [&](const State &n, const char *L, int v) {
          double w = strstr(L, "crash") ? 0.25 : strstr(L, "reads record") ? 0.4 : strstr(L, "COMMIT") ? 2 : 1;
          tot += w;
          if ((rnd() >> 11) * 0x1p-53 * tot < w) {
            pick = n;
            pv = v;
            strcpy(PL, L);
            have = true;
          }
        });
        if (!have) break;
        steps++;
        tr.push_back(PL);
        int v = pv ? pv : check(pick);
        if (strstr(PL, "COMMIT")) commits++;
        if (v) {
          printf("VIOLATION %s   [sim: %llu steps, %.1fs]\n", VN[v], (unsigned long long)steps, sec());
          int q = 0;
          for (auto &l : tr) printf("  %2d. %s\n", ++q, l.c_str());
          show(pick);
          return 1;
        }
        s = pick;
      }
      goods += good(s);
      (void)seed0;
    }
    printf("SIM: %llu steps, %llu walks of <=%d, %llu commits, %llu ended writable, %.0fs, no violation\n", (unsigned long long)steps, (unsigned long long)walks, DEPTH,
           (unsigned long long)commits, (unsigned long long)goods, sec());
    return 0;
  }
  tab.assign(1 << 20, 0);
  mask = tab.size() - 1;
  store.reserve((u64)SZ << 20);
  State s0 = init();
  u8 b[160];
  canon(s0, b);
  insert(b, ~0u);
  vector<u32> edges;
  vector<u64> off;
  u64 trans = 0;
  bool capped = false;
  for (u32 i = 0; i < par.size(); i++) {
    if (LIVE) off.push_back(edges.size());
    State s;
    unpack(&store[(u64)i * SZ], s);
    int bad = 0;
    State bs;
    succ(s, [&](const State &n, const char *L, int viol) {
      if (bad) return;
      trans++;
      int v = viol ? viol : check(n);
      if (v) {
        bad = v;
        bs = n;
        return;
      }
      u8 c[160];
      canon(n, c);
      auto r = insert(c, i);
      if (LIVE) edges.push_back(r.first);
    });
    if (bad) {
      printf("VIOLATION %s   [%u states, %.1fs]\n", VN[bad], (u32)par.size(), sec());
      trace(i, "", &bs);
      return 1;
    }
    if (par.size() > CAP) {
      capped = true;
      break;
    }
    if ((i & 0x3fffff) == 0 && i) {
      printf("  .. %u expanded, %zu known, %.0fs\n", i, par.size(), sec());
      fflush(stdout);
    }
  }
  printf("%s: %zu states, %llu transitions, %.1fs, no violation\n", capped ? "CAPPED (not exhaustive)" : "EXHAUSTIVE", par.size(), (unsigned long long)trans, sec());
  if (LIVE && !capped) {
    u32 n = par.size();
    off.push_back(edges.size());
    vector<u32> indeg(n + 1, 0);
    for (u32 e : edges) indeg[e + 1]++;
    for (u32 i = 0; i < n; i++) indeg[i + 1] += indeg[i];
    vector<u32> rev(edges.size());
    {
      vector<u32> pos(indeg.begin(), indeg.end() - 1);
      for (u32 i = 0; i < n; i++)
        for (u64 j = off[i]; j < off[i + 1]; j++) rev[pos[edges[j]]++] = i;
    }
    vector<u8> ok(n, 0);
    vector<u32> q;
    for (u32 i = 0; i < n; i++) {
      State s;
      unpack(&store[(u64)i * SZ], s);
      if (good(s)) {
        ok[i] = 1;
        q.push_back(i);
      }
    }
    u64 g = q.size();
    for (size_t h = 0; h < q.size(); h++)
      for (u32 j = indeg[q[h]]; j < indeg[q[h] + 1]; j++)
        if (!ok[rev[j]]) {
          ok[rev[j]] = 1;
          q.push_back(rev[j]);
        }
    u64 stuck = 0, inm = 0;
    u32 first = ~0u;
    map<pair<int, int>, u64> hist;
    for (u32 i = 0; i < n; i++)
      if (!ok[i]) {
        stuck++;
        State s;
        unpack(&store[(u64)i * SZ], s);
        hist[{s.r.ep, s.r.rev}]++;
        if (s.r.ep <= E - mE && s.r.rev <= R - mR) {
          inm++;
          if (first == ~0u) first = i;
        }
      }
    printf("LIVENESS: %llu writable states; %llu states with no path to writable, %llu of them with budget left (epoch<=%d rev<=%d)\n", (unsigned long long)g,
           (unsigned long long)stuck, (unsigned long long)inm, E - mE, R - mR);
    for (auto &h : hist) printf("   ep%d rev%d: %llu\n", h.first.first, h.first.second, (unsigned long long)h.second);
    if (first != ~0u) {
      puts("  shortest stuck:");
      trace(first, "", nullptr);
    }
  }
}
