import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { ProcessIdentity } from '#common/process/process-stat.ts'
import type { LocalCluster, LocalInstance } from '../folder/cluster-file.ts'
import { askSupervisor } from '../supervisor/control.ts'
import type { Fault } from './fault-names.ts'
import { markStopped, mysqldOf, readBook, unmarkStopped } from '../processes/process-book.ts'
import { isAlive } from '#common/process/process-stat.ts'
import { killProcess, signalProcess } from '../processes/process-identity.ts'
import type { StateLayout } from '../folder/state-layout.ts'

/**
 * Does it, and says in one sentence what was done. Throws `REGENT_NOT_FOUND` for an instance that is not the cluster's
 * and `REGENT_REFUSED` when the process it is about does not run, or the servers were adopted.
 */
export async function injectFault(
  layout: StateLayout,
  cluster: LocalCluster,
  name: string,
  fault: Fault,
): Promise<string> {
  const instance = ownInstance(cluster, name)
  switch (fault) {
    case 'kill-mysqld':
      return `killed mysqld of ${name}, pid ${await killed(await requireMysqld(instance))}`
    case 'freeze-mysqld':
      return `froze mysqld of ${name}, pid ${await signalled(await requireMysqld(instance), 'SIGSTOP')}`
    case 'thaw-mysqld':
      return `thawed mysqld of ${name}, pid ${await signalled(await requireMysqld(instance), 'SIGCONT')}`
    case 'kill-agent':
      return killAgent(layout, name)
    case 'freeze-agent':
      return `froze the agent of ${name}, pid ${await signalled(await requireAgent(layout, name), 'SIGSTOP')}`
    case 'thaw-agent':
      return `thawed the agent of ${name}, pid ${await signalled(await requireAgent(layout, name), 'SIGCONT')}`
    case 'kill':
      return killBoth(layout, instance)
    case 'start':
      return start(layout, name)
  }
}

function ownInstance(cluster: LocalCluster, name: string): LocalInstance {
  if (cluster.far === true)
    throw new RegentError(
      'REGENT_REFUSED',
      say`the servers of ${cluster.name} were adopted: nothing here breaks or starts one, nor the agent of one alone`,
      { remedy: '' },
    )
  const instance = cluster.instances.find((candidate) => candidate.name === name)
  if (instance !== undefined) return instance
  throw new RegentError(
    'REGENT_NOT_FOUND',
    say`cluster ${cluster.name} has no instance "${name}"; it has ${cluster.instances.map((one) => one.name).join(', ')}`,
  )
}

async function killAgent(layout: StateLayout, name: string): Promise<string> {
  const agent = await requireAgent(layout, name)
  // The mark first: the supervisor looks for it as soon as the agent is gone.
  await markStopped(layout, name)
  return `killed the agent of ${name}, pid ${await killed(agent)}; it stays down until "regent local fault ${name} start"`
}

/** Both at the same moment, as a machine dies: neither sees the other go. */
async function killBoth(layout: StateLayout, instance: LocalInstance): Promise<string> {
  const [agent, mysqld] = await Promise.all([agentOf(layout, instance.name), mysqldOf(instance.volume)])
  await markStopped(layout, instance.name)
  const gone = await Promise.all([agent && killProcess(agent), mysqld && killProcess(mysqld)])
  // An agent that was about to start its mysqld may have done so in between.
  const late = await mysqldOf(instance.volume)
  if (late !== undefined) await killProcess(late)
  const what = [gone[0] ? `agent (pid ${agent?.pid})` : '', gone[1] ? `mysqld (pid ${mysqld?.pid})` : '']
    .filter((part) => part !== '')
    .join(' and ')
  return (
    `killed ${what === '' ? 'nothing: neither agent nor mysqld ran' : what} of ${instance.name}; it ` +
    `stays down until "regent local fault ${instance.name} start"`
  )
}

async function start(layout: StateLayout, name: string): Promise<string> {
  await unmarkStopped(layout, name)
  const told = await askSupervisor(layout.control, { command: 'start', process: name }, 10_000)
  if (told === undefined)
    throw new RegentError(
      'REGENT_REFUSED',
      say`no supervisor runs that could start the agent of ${name}; "regent local up" starts it`,
      { remedy: '' },
    )
  return `started the agent of ${name}, which starts its mysqld as its promise allows`
}

async function agentOf(layout: StateLayout, name: string): Promise<ProcessIdentity | undefined> {
  return (await readBook(layout)).processes[name]
}

async function requireAgent(layout: StateLayout, name: string): Promise<ProcessIdentity> {
  const agent = await agentOf(layout, name)
  if (agent !== undefined && isAlive(agent)) return agent
  throw new RegentError('REGENT_REFUSED', say`the agent of ${name} does not run`)
}

async function requireMysqld(instance: LocalInstance): Promise<ProcessIdentity> {
  const mysqld = await mysqldOf(instance.volume)
  if (mysqld !== undefined && isAlive(mysqld)) return mysqld
  throw new RegentError('REGENT_REFUSED', say`mysqld of ${instance.name} does not run`)
}

async function signalled(identity: ProcessIdentity, signal: NodeJS.Signals): Promise<number> {
  if (signalProcess(identity, signal)) return identity.pid
  throw new RegentError('REGENT_REFUSED', say`process ${identity.pid} ended by itself before ${signal} could be sent`)
}

async function killed(identity: ProcessIdentity): Promise<number> {
  await killProcess(identity)
  return identity.pid
}
