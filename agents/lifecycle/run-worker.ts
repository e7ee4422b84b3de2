import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { readTokenFile } from '#common/http/bearer-token.ts'
import { createLogger } from '#common/log/logger.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { toldToStop } from '#common/process/signals.ts'
import { Pipes } from './actions/pipes.ts'
import { ProcessGroups } from './actions/process-groups.ts'
import { readActions, readTasks, type Environment } from './configuration/configuration.ts'
import type { LifecycleOptions } from './options.ts'
import { tellerOf } from './probing.ts'
import { withoutPipes } from './warnings.ts'
import { loadReplica } from './worker/new-replica.ts'
import { runTasks } from './worker/run-tasks.ts'

export interface WorkerOptions extends Pick<LifecycleOptions, 'tokenFile' | 'logLevel'> {
  /** The folder that the built-in `dataLoad` fills; undefined where none is named. */
  readonly dataDir: string | undefined
}

/**
 * Does the tasks that `KB_AGENT_TASK` has for this pod, and ends. Throws `REGENT_TASK_FAILED`, `REGENT_BAD_ENVIRONMENT`
 * and `REGENT_BAD_FILE`.
 */
export async function runLifecycleWorker(
  { tokenFile, logLevel, dataDir }: WorkerOptions,
  environment: Environment,
): Promise<void> {
  const signal = toldToStop()
  const log = createLogger({ level: logLevel, name: 'lifecycle worker' })
  const tasks = readTasks(environment)
  if (tasks.length === 0) return log.info('KB_AGENT_TASK has no task')
  const pod = environment['KB_AGENT_POD_NAME']
  if (!pod)
    throw new RegentError(
      'REGENT_BAD_ENVIRONMENT',
      say`KB_AGENT_POD_NAME is not set, so that no task can be told to be this pod’s; it takes the downward API’s metadata.name`,
    )
  const actions = readActions(environment)
  if (dataDir !== undefined && actions.has('dataLoad'))
    log.info(
      `the script dataLoad of KB_AGENT_ACTION loads the data; ${dataDir} is for the built-in dataLoad, and is left alone`,
    )
  const token = tokenFile === undefined ? undefined : await readTokenFile(tokenFile)
  const isNeeded = tasks.some(
    ({ notifyAtFinish, reportPeriodSeconds = 0 }) => notifyAtFinish || reportPeriodSeconds > 0,
  )
  const teller = tellerOf(environment, { world: realWorld, log, isNeeded })
  const pipes = Pipes.open()
  if (pipes === undefined) log.warn(withoutPipes)
  const world = { groups: new ProcessGroups(pipes), timers: realWorld.timers }
  try {
    await runTasks(tasks, {
      pod,
      world: realWorld,
      log,
      signal,
      load: (task, progress) =>
        loadReplica(pod, task, { actions, dataDir, environment, world, token, signal, progress }),
      tell: (reason, text) => teller.send(reason, text, signal),
    })
  } finally {
    teller.close()
  }
}
