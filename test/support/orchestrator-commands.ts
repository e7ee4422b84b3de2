import { execFile } from 'node:child_process'
import { join } from 'node:path'

/** Ours, which calls as that of orchestrator does. */
export const standIn = join(import.meta.dirname, 'orchestrator-client.sh')

/** The unmodified client of orchestrator, where somebody has one. */
export const unmodified = process.env['REGENT_ORCHESTRATOR_CLIENT']

export interface Answered {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command of a client against the interface at this port. */
export function clientOf(program: string, port: number) {
  return clientAt(program, { ORCHESTRATOR_API: `http://127.0.0.1:${port}` })
}

/** Runs a command of a client, as it is told by its environment whom to ask. */
export function clientAt(program: string, told: Readonly<Record<string, string>>) {
  return (...words: readonly string[]): Promise<Answered> =>
    new Promise((resolve) => {
      const env = { ...process.env, ...told }
      execFile('bash', [program, ...words], { env, encoding: 'utf8' }, (error, stdout, stderr) => {
        const code = typeof error?.code === 'number' ? error.code : error === null ? 0 : 1
        resolve({ code, stdout: stdout.trim(), stderr: stderr.trim() })
      })
    })
}

/** Nothing on standard output is the answer, whether that is an error or not. */
export const nothing = 'nothing is printed'

/** A command, and what is printed: a text on standard output, or the beginning of what is refused. */
export type Row = readonly [words: string, prints: string | RegExp | { readonly refuses: RegExp }]

/** Clients end so when `jq` reads nothing more of what they pipe: then everything was printed. */
const brokenPipe = 141

export function matches({ code, stdout, stderr }: Answered, prints: Row[1]): boolean {
  const isDone = code === 0 || (code === brokenPipe && stderr === '')
  if (prints === nothing) return stdout === ''
  if (typeof prints === 'string') return isDone && stdout === prints
  return prints instanceof RegExp ? isDone && prints.test(stdout) : !isDone && prints.refuses.test(stderr)
}

/** The same row, on a cluster of another name than `shop`. */
export function onCluster(name: string, [words, prints]: Row): Row {
  const named = (text: string) => text.replaceAll('shop', name)
  const matching = (pattern: RegExp) => new RegExp(named(pattern.source), pattern.flags)
  if (typeof prints === 'string') return [named(words), named(prints)]
  return [named(words), prints instanceof RegExp ? matching(prints) : { refuses: matching(prints.refuses) }]
}

/** With our own, and the unmodified one where there is one. */
export const clients = [
  ['the stand-in', standIn],
  ...(unmodified === undefined ? [] : [['the unmodified client', unmodified] as const]),
] as const

/** What is said where Regent keeps that by itself. */
export const managed = (what: string) => ({ refuses: new RegExp(`${what}: refused for .*which Regent manages`) })
const all = 'shop-0:3306\nshop-1:3306\nshop-2:3306'
const replicas = 'shop-1:3306\nshop-2:3306'

/** The commands that scripts use most, on a cluster whose primary is shop-0; `follows`: replicas have channels. */
export function mostUsed(follows: boolean): readonly Row[] {
  const ofChannel = (prints: Row[1]): Row[1] => (follows ? prints : '')
  return [
    ['-c api -P clusters', /"shop-0:3306"/],
    ['-c clusters', 'shop-0:3306'],
    ['-c clusters-alias', 'shop-0:3306,shop'],
    ['-c which-cluster-master -i shop', 'shop-0:3306'],
    ['-c which-cluster -i shop-1', 'shop-0:3306'],
    ['-c which-cluster-alias -i shop-1', 'shop'],
    ['-c which-cluster-instances -i shop', all],
    ['-c all-instances', all],
    ['-c instance -i shop-1', 'shop-1:3306'],
    ['-c instance -i nobody', { refuses: /Cannot read instance: nobody:3306/ }],
    ['-c which-master -i shop-1', follows ? 'shop-0:3306' : ':0'],
    ['-c which-replicas -i shop-0', ofChannel(replicas)],
    ['-c is-replicating -i shop-1', ofChannel('shop-1:3306')],
    ['-c which-gtid-errant -i shop-1', ''],
    ['-c topology -i shop', /^shop-0:3306 +\[0s,ok,[^,]+,rw,ROW,>>,GTID.*\n[+‡] shop-1:3306 \[\d+s,ok,/],
    ['-c topology-tabulated -i shop', /^shop-0:3306 *\|0s\|ok\|.*\n[+‡] shop-1:3306\|/],
    ['-c topology-tags -i shop', /^shop-0:3306 .*\[\]\n/],
    ['-c replication-analysis', ''],
    ['-c discover -i shop-1', 'shop-1:3306'],
    ['-c tag -i shop-1 -t role=report', 'shop-1:3306'],
    ['-c tag-value -i shop-1 -t role', 'report'],
    ['-c tags -i shop-1', 'role=report'],
    ['-c tagged -t role=report', 'shop-1:3306'],
    ['-c untag -i shop-1 -t role', 'shop-1:3306'],
    ['-c untag-all -t role', ''],
    ['-c begin-downtime -i shop-1 -o ann -r disk -u 10m', 'shop-1:3306'],
    ['-c downtimed -i shop', 'shop-1:3306'],
    ['-c end-downtime -i shop-1', 'shop-1:3306'],
    ['-c register-candidate -i shop-2 -R neutral', 'shop-2:3306'],
    ['-c submit-masters-to-kv-stores', /^mysql\/master\/shop:shop-0:3306\n/],
    ['-c relocate -i shop-1 -d shop-0', follows ? 'shop-1:3306<shop-0:3306' : managed('relocate')],
    ['-c relocate -i shop-1 -d shop-2', managed('relocate')],
    ['-c relocate-replicas -i shop-0 -d shop-2', follows ? managed('relocate-replicas') : ''],
    ['-c make-co-master -i shop-1', managed('make-co-master')],
    ['-c stop-replica -i shop-1', managed('stop-replica')],
    ['-c start-replica -i shop-1', follows ? 'shop-1:3306' : managed('start-replica')],
    ['-c restart-replica-statements -i shop-1 -q x', managed('restart-replica-statements')],
    ['-c enable-semi-sync-master -i shop-0', follows ? 'shop-0:3306' : managed('enable-semi-sync-master')],
    ['-c disable-semi-sync-master -i shop-0', follows ? managed('disable-semi-sync-master') : 'shop-0:3306'],
    ['-c disable-semi-sync-replica -i shop-1', follows ? managed('disable-semi-sync-replica') : 'shop-1:3306'],
    ['-c set-read-only -i shop-0', managed('set-read-only')],
    ['-c set-read-only -i shop-1', 'shop-1:3306'],
    ['-c gtid-errant-reset-master -i shop-1', managed('gtid-errant-reset-master')],
    ['-c gtid-errant-inject-empty -i shop-1', managed('gtid-errant-inject-empty')],
    ['-c recover -i shop-0', { refuses: /Recovery not attempted/ }],
    ['-c graceful-master-takeover -i shop', { refuses: /target instance not indicated, auto=false/ }],
    ['-c graceful-master-takeover-auto -i shop -d shop-1', 'shop-1:3306'],
    ['-c which-cluster-master -i shop', 'shop-1:3306'],
    ['-c graceful-master-takeover -i shop -d shop-0', 'shop-0:3306'],
    ['-c force-master-failover -i shop', /^shop-[12]:3306$/],
    ['-c ack-cluster-recoveries -i shop -r seen', /^shop-[12]:3306$/],
    ['-c ack-all-recoveries -r seen', 'seen'],
  ]
}
