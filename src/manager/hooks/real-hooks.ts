import { hostname } from 'node:os'
import { describeError } from '#common/errors/errors.ts'
import type { World } from '#common/ports/ports.ts'
import { duration } from '#common/text/words.ts'
import { retriesOf, timeoutOf, type Hook, type Webhook } from '#failover/protocol/hook.ts'
import type { HookDocument } from '#failover/protocol/hook-document.ts'
import { filledIn, harmless, variablesOf } from '#failover/protocol/hook-words.ts'
import type { HookEnd, HookPort } from '../loop/hooks/hook-port.ts'
import { runProgram } from './run-program.ts'
import { sendWebhook } from './send-webhook.ts'

/** Where the secret of a webhook is. Rejects where there is none. */
export type SecretOf = (webhook: Webhook) => Promise<string | null>

const firstPauseMs = 250
const longestPauseMs = 5_000

/** The manager's own environment holds what is nobody's business. */
const inherited = /^(PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TZ|TMPDIR)$/

/** Hooks as they are: programs on this machine, and requests. */
export function realHooks(world: Pick<World, 'clock' | 'timers'>, secretOf: SecretOf): HookPort {
  return {
    machine: hostname(),
    async run(hook, told) {
      try {
        const { webhook } = hook
        const once =
          webhook === undefined
            ? programOf(hook, told, world)
            : letterOf(webhook, told, world, await inTime(secretOf(webhook), timeoutOf(hook), world))
        return await withRetries(hook, once, world)
      } catch (error) {
        return { isDone: false, said: describeError(error) }
      }
    },
  }
}

/** A try that ends by its deadline. */
type Once = (deadlineMs: number) => Promise<HookEnd & { readonly again: boolean }>

function programOf({ command, shell = '' }: Hook, told: HookDocument, { timers }: Pick<World, 'timers'>): Once {
  const argv = command?.map((text) => filledIn(text, told)) ?? ['sh', '-c', filledIn(shell, told, harmless)]
  const own = Object.entries(process.env).filter(([name]) => inherited.test(name))
  const environment = { ...(Object.fromEntries(own) as Record<string, string>), ...variablesOf(told) }
  const input = `${JSON.stringify(told)}\n`
  return (deadlineMs) => runProgram({ argv, environment, input, deadlineMs }, timers)
}

/** A disk that hangs, or an API server: who waits for the hook waits for its time, and no longer. */
async function inTime<Read>(reading: Promise<Read>, ms: number, { timers }: Pick<World, 'timers'>): Promise<Read> {
  const over = new AbortController()
  const tooLate = timers.sleep(ms, over.signal).then(() => {
    throw new Error(`its secret could not be read within ${duration(ms)}`)
  })
  try {
    return await Promise.race([reading, tooLate])
  } finally {
    tooLate.catch(() => undefined)
    over.abort()
  }
}

function letterOf(
  webhook: Webhook,
  told: HookDocument,
  { clock, timers }: Pick<World, 'clock' | 'timers'>,
  secret: string | null,
): Once {
  const { key, moment } = told
  const letter = { url: webhook.url, body: JSON.stringify(told), key, moment, secret }
  return (deadlineMs) => sendWebhook({ ...letter, wallMs: clock.wallMs(), deadlineMs }, timers)
}

/** Tries it again while it may help, and while there is time. A webhook that hangs leaves time for its other tries. */
async function withRetries(
  hook: Hook,
  once: Once,
  { clock, timers }: Pick<World, 'clock' | 'timers'>,
): Promise<HookEnd> {
  const tries = retriesOf(hook) + 1
  const endMs = clock.monotonicMs() + timeoutOf(hook)
  for (let left = tries; ; left--) {
    const restMs = endMs - clock.monotonicMs()
    const { again, ...end } = await once(hook.webhook === undefined ? restMs : restMs / left)
    const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** (tries - left))
    const isOver = clock.monotonicMs() + pauseMs >= endMs
    if (end.isDone || !again || left === 1) return said(end, tries - left + 1)
    if (isOver)
      return said({ ...end, said: `${end.said}; no time left of ${duration(timeoutOf(hook))}` }, tries - left + 1)
    await timers.sleep(pauseMs)
  }
}

function said(end: HookEnd, tries: number): HookEnd {
  return tries === 1 ? end : { ...end, said: `${end.said} (try ${tries})` }
}
