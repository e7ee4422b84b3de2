import { say } from '#common/sentence/sentence.ts'
import { RegentError } from '#common/errors/errors.ts'
import type { Logger } from '#common/log/logger.ts'
import type { World } from '#common/ports/ports.ts'
import type { ActionRunner } from './actions/runner.ts'
import type { Environment } from './configuration/configuration.ts'
import { readPodIdentity } from './configuration/pod-identity.ts'
import { findServiceAccount, kubeEventStore } from './events/kube-api.ts'
import { EventSender } from './events/sender.ts'
import { probeMessage } from './events/messages.ts'
import { ProbeRunner } from './probes/probe-runner.ts'
import { watchFiles } from './probes/watch-files.ts'
import type { Service } from './services.ts'
import { refusal } from './wire/calls.ts'
import type { Action, Probe } from './wire/definitions.ts'

/** Where Events go. */
export interface Teller {
  send(reason: string, text: string, signal: AbortSignal): Promise<void>
  close(): void
}

/**
 * Tells the API server of this pod's cluster. Outside a cluster, where there is no API server, every Event is a line of
 * the log. Throws `REGENT_BAD_ENVIRONMENT` where Events are needed and the pod is not known.
 */
export function tellerOf(
  environment: Environment,
  { world, log, isNeeded }: { readonly world: World; readonly log: Logger; readonly isNeeded: boolean },
): Teller {
  const account = findServiceAccount(environment)
  const pod = isNeeded ? readPodIdentity(environment) : undefined
  if (account !== undefined && pod !== undefined) {
    const store = kubeEventStore(account)
    const sender = new EventSender(pod, store, world)
    return { send: (...event) => sender.send(...event), close: () => store.close() }
  }
  if (account !== undefined && isNeeded)
    throw new RegentError(
      'REGENT_BAD_ENVIRONMENT',
      say`KB_AGENT_NAMESPACE, KB_AGENT_POD_NAME, KB_AGENT_POD_UID and KB_AGENT_NODE_NAME are not set; probes report Events about the pod, which the downward API names`,
    )
  if (isNeeded) log.warn('there is no Kubernetes API server here: what probes find is told in this log only')
  return {
    async send(reason, text) {
      log.info({ reason, event: text }, 'a probe reports')
    },
    close: () => undefined,
  }
}

interface ProbingParts {
  readonly actions: ReadonlyMap<string, Action>
  readonly runner: ActionRunner
  readonly world: World
  readonly log: Logger
  readonly teller: Teller
}

/** All probes. Their end waits for no report: the next agent makes one. */
export function probeService(probes: readonly Probe[], parts: ProbingParts): Service {
  const { actions, runner, world, log, teller } = parts
  const ended = new AbortController()
  const warn = (sentence: string): void => log.warn(sentence)
  const runners = probes.map(
    (probe) =>
      new ProbeRunner(probe, {
        world,
        log: warn,
        // Blocking even where its action is not: a probe waits for its own result.
        run: async ({ action: name }) => {
          const action = actions.get(name)
          return action === undefined
            ? refusal('notDefined', say`${name}`)
            : runner.run(action, { action: name }, 'blocking')
        },
        report: async (event) => {
          await teller.send(event.probe, probeMessage(event), ended.signal)
          log.debug({ probe: event.probe, code: event.code }, 'reported')
        },
        watch: (paths, changed) => watchFiles(paths, { timers: world.timers, log: warn }, changed),
      }),
  )
  return {
    async start() {
      for (const runner of runners) runner.start()
      if (probes.length > 0) log.info({ probes: probes.map(({ action }) => action) }, 'probes run')
      return async () => {
        for (const runner of runners) runner.stop()
        ended.abort(new Error('the agent is stopping'))
        teller.close()
      }
    },
  }
}
