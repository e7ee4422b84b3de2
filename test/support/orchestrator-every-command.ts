import { readFile } from 'node:fs/promises'
import { managed, mostUsed, nothing, standIn, type Row } from './orchestrator-commands.ts'

/** Every command of orchestrator’s clients, of openark’s and percona’s. */
export const everyCommand: readonly string[] = `
  help which-api api async-discover discover forget forget-cluster topology topology-tabulated topology-tags
  snapshot-topologies clusters clusters-alias search instance which-instance which-master which-replicas
  which-broken-replicas which-cluster-instances which-cluster which-cluster-alias which-cluster-master
  all-clusters-masters all-instances which-cluster-osc-replicas which-cluster-osc-running-replicas downtimed dominant-dc
  submit-masters-to-kv-stores relocate relocate-replicas match match-up match-up-replicas move-up move-below
  move-equivalent move-up-replicas make-co-master take-master move-gtid move-replicas-gtid repoint repoint-replicas
  take-siblings tags tag-value tag untag untag-all tagged submit-pool-instances which-heuristic-cluster-pool-instances
  begin-downtime end-downtime begin-maintenance end-maintenance register-candidate register-hostname-unresolve
  deregister-hostname-unresolve stop-replica stop-replica-nice start-replica restart-replica reset-replica detach-replica
  reattach-replica detach-replica-master-host reattach-replica-master-host skip-query which-gtid-errant
  locate-gtid-errant gtid-errant-reset-master gtid-errant-inject-empty enable-semi-sync-master disable-semi-sync-master
  enable-semi-sync-replica disable-semi-sync-replica restart-replica-statements delay-replication can-replicate-from
  can-replicate-from-gtid is-replicating is-replication-stopped set-read-only set-writeable flush-binary-logs
  purge-binary-logs last-pseudo-gtid change-master-credentials recover graceful-master-takeover
  graceful-master-takeover-auto force-master-failover force-master-takeover ack-cluster-recoveries ack-all-recoveries
  disable-global-recoveries enable-global-recoveries check-global-recoveries replication-analysis raft-leader raft-health
  raft-leader-hostname raft-elect-leader`
  .trim()
  .split(/\s+/)

/** What a client knows, by the labels of its `case`; of the stand-in, whose last label takes everything, the list. */
export async function commandsOf(program: string): Promise<readonly string[]> {
  if (program === standIn) return everyCommand
  const [, cases = ''] = /case \$command in\n(.*?)\n\s*esac/s.exec(await readFile(program, 'utf8')) ?? []
  const labels = [...cases.matchAll(/^\s*((?:"[\w-]+"\|?)+)\)/gm)].flatMap(([, label = '']) => label.split('|'))
  return labels.map((label) => label.replaceAll('"', ''))
}

/** orchestrator’s old word is another name for the same. */
export function commandOf([words]: Row): string {
  return (/-c (\S+)/.exec(words)?.[1] ?? '').replace('slave', 'replica')
}

const all = 'shop-0:3306\nshop-1:3306\nshop-2:3306'
const replicas = 'shop-1:3306\nshop-2:3306'
const noRaft = { refuses: /raft-(state|health): not running with raft setup/ }

/** Where everybody may look, and what anybody may note of servers. */
function looking(follows: boolean): readonly Row[] {
  const ofChannel = (prints: Row[1]): Row[1] => (follows ? prints : '')
  return [
    ['-c help', /orchestrator-client/],
    ['-c which-api', /^http:\/\/127\.0\.0\.1:\d+\/api$/],
    ['-i shop-1 -c which-cluster-master', 'shop-0:3306'],
    ['-c which-cluster-master -a shop', 'shop-0:3306'],
    ['-c which-instance -i shop-1:3306', 'shop-1:3306'],
    ['-c instance -i SHOP-1', 'shop-1:3306'],
    ['-c search -i SHOP-1', 'shop-1:3306'],
    ['-c search -i nobody', ''],
    ['-c which-slaves -i shop-0', ofChannel(replicas)],
    ['-c which-broken-replicas -i shop-0', ''],
    ['-c all-clusters-masters', 'shop-0:3306'],
    ['-c dominant-dc', ''],
    ['-c which-cluster-osc-replicas -i shop', replicas],
    ['-c which-cluster-osc-running-replicas -i shop', ofChannel(replicas)],
    ['-c is-replication-stopped -i shop-1', ''],
    ['-c locate-gtid-errant -i shop-1', ''],
    ['-c last-pseudo-gtid -i shop-1', ''],
    ['-c can-replicate-from -i shop-1 -d shop-2', 'shop-2:3306'],
    ['-c can-replicate-from -i shop-1 -d shop-1', nothing],
    ['-c can-replicate-from-gtid -i shop-1 -d shop-0', 'shop-0:3306'],
    ['-c can-replicate-from-gtid -i shop-1 -d shop-1', nothing],
    ['-c snapshot-topologies', /^Took \d+s$/],
    ['-c async-discover -i shop-1', ':null'],
    ['-c submit-pool-instances -l web -i shop-1:3306,shop-2', 'web'],
    ['-c which-heuristic-cluster-pool-instances -i shop', replicas],
    ['-c which-heuristic-cluster-pool-instances -i shop -l web', replicas],
    ['-c which-heuristic-cluster-pool-instances -i shop -l none', ''],
    ['-c begin-maintenance -i shop-1 -o ann -r disk', 'shop-1:3306'],
    [
      '-c begin-maintenance -i shop-1 -o ann -r disk',
      { refuses: /Cannot begin maintenance for instance: shop-1:3306/ },
    ],
    ['-c end-maintenance -i shop-1', 'shop-1:3306'],
    ['-c raft-leader', noRaft],
    ['-c raft-health', noRaft],
    ['-c raft-leader-hostname', noRaft],
    ['-c raft-elect-leader -H shop', noRaft],
  ]
}

/** What would change a server: Regent keeps that. */
function kept(follows: boolean): readonly Row[] {
  const refused = (words: string): Row => [words, managed(commandOf([words, '']))]
  const ofChannel = (words: string, prints: string): Row => (follows ? [words, prints] : refused(words))
  return [
    ofChannel('-c match -i shop-1 -d shop-0', 'shop-1:3306<shop-0:3306'),
    refused('-c match -i shop-1 -d shop-2'),
    refused('-c match-up -i shop-1'),
    follows ? refused('-c match-up-replicas -i shop-0') : ['-c match-up-replicas -i shop-0', ''],
    ['-c match-up-slaves -i shop-1', ''],
    refused('-c move-up -i shop-1'),
    ofChannel('-c move-below -i shop-1 -d shop-0', 'shop-1:3306<shop-0:3306'),
    refused('-c move-below -i shop-1 -d shop-2'),
    refused('-c move-equivalent -i shop-1 -d shop-2'),
    follows ? refused('-c move-up-replicas -i shop-0') : ['-c move-up-replicas -i shop-0', ''],
    refused('-c move-gtid -i shop-1 -d shop-2'),
    follows ? refused('-c move-replicas-gtid -i shop-0 -d shop-2') : ['-c move-replicas-gtid -i shop-0 -d shop-2', ''],
    ofChannel('-c repoint -i shop-1 -d shop-0', 'shop-1:3306<shop-0:3306'),
    refused('-c repoint -i shop-1 -d shop-2'),
    follows ? refused('-c repoint-replicas -i shop-0') : ['-c repoint-replicas -i shop-0', ''],
    ['-c repoint-slaves -i shop-1', ''],
    refused('-c take-siblings -i shop-1'),
    refused('-c stop-slave -i shop-1'),
    refused('-c stop-replica-nice -i shop-1'),
    ofChannel('-c restart-replica -i shop-1', 'shop-1:3306'),
    follows ? refused('-c reset-replica -i shop-1') : ['-c reset-replica -i shop-1', 'shop-1:3306'],
    ['-c reset-replica -i shop-0', 'shop-0:3306'],
    refused('-c detach-replica -i shop-1'),
    ofChannel('-c reattach-replica -i shop-1', 'shop-1:3306'),
    refused('-c detach-replica-master-host -i shop-1'),
    ofChannel('-c reattach-replica-master-host -i shop-1', 'shop-1:3306'),
    refused('-c skip-query -i shop-1'),
    ofChannel('-c enable-semi-sync-replica -i shop-1', 'shop-1:3306'),
    refused('-c delay-replication -i shop-1 -S 10'),
    ['-c set-writeable -i shop-0', 'shop-0:3306'],
    refused('-c set-writeable -i shop-1'),
    refused('-c flush-binary-logs -i shop-1'),
    refused('-c purge-binary-logs -i shop-1 -n binlog.000002'),
    refused('-c change-master-credentials -i shop-1'),
    refused('-c register-hostname-unresolve -i shop-1 -H other'),
    refused('-c deregister-hostname-unresolve -i shop-1'),
  ]
}

/** Who leads, who is listed, and whether anything happens by itself. */
const leading: readonly Row[] = [
  ['-c disable-global-recoveries', 'disabled'],
  ['-c check-global-recoveries', 'disabled'],
  ['-c enable-global-recoveries', 'enabled'],
  ['-c check-global-recoveries', 'enabled'],
  ['-c take-master -i shop-1', 'shop-1:3306<:0'],
  ['-c force-master-takeover -i shop -d shop-1', { refuses: /shop-1 is the primary already/ }],
  ['-c force-master-takeover -i shop -d shop-0', 'shop-0:3306'],
  ['-c forget -i shop-0', { refuses: /shop-0:3306 is the primary of shop: call graceful-master-takeover-auto first/ }],
  ['-c forget -i shop-2', ''],
  ['-c instance -i shop-2', { refuses: /Cannot read instance: shop-2:3306/ }],
  ['-c discover -i shop-2', 'shop-2:3306'],
  ['-c forget-cluster -i shop', ''],
  ['-c clusters', ''],
  ['-c which-cluster -i shop', { refuses: /Unable to determine cluster name/ }],
  ['-c discover -i shop-0', 'shop-0:3306'],
  ['-c discover -i shop-1', 'shop-1:3306'],
  ['-c discover -i shop-2', 'shop-2:3306'],
  ['-c which-cluster-instances -i shop', all],
]

/** Every command, on a cluster that Regent manages, whose primary is shop-0; `follows`: replicas have channels. */
export function everyCommandManaged(follows: boolean): readonly Row[] {
  return [...looking(follows), ...kept(follows), ...leading, ...mostUsed(follows)]
}
