import { Type, type Static } from 'typebox'
import { hookMoments, momentNames, waitedFor, type HookMoment } from './hook-moments.ts'
import { strangerIn } from './hook-words.ts'

/**
 * What a person has done by their own programs around a change of the primary: commands on the manager's machine, and
 * webhooks. The schema is the TypeScript type, the check of specs and a part of `docs/reference/configuration.md`.
 */

const longestHookMs = 600_000
const defaultHookMs = 10_000

const secretRefSchema = Type.Object(
  {
    name: Type.String({ pattern: '^[a-z0-9][a-z0-9.-]*$', maxLength: 253, description: 'Name of the Secret.' }),
    key: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9._-]+$',
        maxLength: 253,
        description: 'Key in the Secret; secret unless given.',
      }),
    ),
  },
  { additionalProperties: false, description: 'On Kubernetes: the secret, in a Secret of the cluster’s namespace.' },
)

const url = Type.String({
  minLength: 1,
  maxLength: 2_048,
  description: 'The document is POSTed to this http or https URL.',
})

const hookWords = {
  command: Type.Optional(
    Type.Array(Type.String({ maxLength: 4_096 }), {
      minItems: 1,
      maxItems: 64,
      description: 'Program and arguments, without a shell; runs where the manager runs. Placeholders are filled in.',
    }),
  ),
  shell: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 16_384,
      description: 'A line for sh -c; runs where the manager runs. Placeholders are filled in.',
    }),
  ),
  timeoutMs: Type.Optional(
    Type.Integer({
      minimum: 100,
      maximum: longestHookMs,
      description: `Past it the hook is ended, with what it started, and has failed: all tries together. ${defaultHookMs} unless given. Milliseconds.`,
    }),
  ),
  retries: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 10,
      description: 'So often more it is tried within its time; 0 for a command and 3 for a webhook unless given.',
    }),
  ),
  onFailure: Type.Optional(
    Type.Enum(['continue', 'stop'], {
      type: 'string',
      description:
        'stop, before something alone: that is not begun. continue unless given: a hook that fails is told of, and nothing else.',
    }),
  ),
}

/** A hook, and what a webhook of it may say. */
function hookOf<Webhook extends Type.TProperties>(webhook: Webhook) {
  return Type.Object(
    {
      ...hookWords,
      webhook: Type.Optional(
        Type.Object(webhook, { additionalProperties: false, description: 'A signed POST of the document.' }),
      ),
    },
    { additionalProperties: false, description: 'One of command, shell and webhook.' },
  )
}

/** The moments of a list of hooks each. */
function hooksOf<Hook extends Type.TSchema>(hook: Hook) {
  const lists = momentNames.map((moment) => [
    moment,
    Type.Optional(Type.Array(hook, { maxItems: 8, description: hookMoments[moment] })),
  ])
  return Type.Object(Object.fromEntries(lists) as Record<HookMoment, Type.TOptional<Type.TArray<Hook>>>, {
    additionalProperties: false,
    description: 'What else is done around a change of the primary; nothing unless given. Each runs once.',
  })
}

const secretFile = Type.Optional(
  Type.String({ minLength: 1, maxLength: 1_024, description: 'File with the secret that signs what is sent.' }),
)
const secretRef = Type.Optional(secretRefSchema)

export const hookSchema = hookOf({ url, secretFile, secretRef })
/** On Kubernetes a secret is no file. */
export const kubeHookSchema = hookOf({ url, secretRef })
export const hooksSchema = hooksOf(hookSchema)
export const kubeHooksSchema = hooksOf(kubeHookSchema)

export type Hooks = Readonly<Static<typeof hooksSchema>>
export type Hook = NonNullable<Hooks[HookMoment]>[number]
export type Webhook = NonNullable<Hook['webhook']>

export function hooksAt(hooks: Hooks | undefined, moment: HookMoment): readonly Hook[] {
  return hooks?.[moment] ?? []
}

export function timeoutOf({ timeoutMs }: Hook): number {
  return timeoutMs ?? defaultHookMs
}

export function retriesOf({ retries, webhook }: Hook): number {
  return retries ?? (webhook === undefined ? 0 : 3)
}

/** So long, at most, these hold up what waits for them: they run one after the other. */
export function longestOf(hooks: readonly Hook[]): number {
  return hooks.reduce((all, hook) => all + timeoutOf(hook), 0)
}

/** How a hook is called where people read of it: never with arguments, paths of a URL, or passwords. */
export function labelOf({ command, shell, webhook }: Hook): string {
  if (webhook !== undefined) return `webhook of ${urlOf(webhook.url)?.host ?? 'no URL'}`
  const [first = ''] = command ?? (shell ?? '').trim().split(/\s+/, 1)
  return first.split('/').at(-1)?.slice(0, 60) ?? ''
}

function urlOf(text: string): URL | undefined {
  return URL.parse(text) ?? undefined
}

/**
 * What is wrong with hooks that have the right shape, with the path and what is allowed; undefined where nothing is.
 * @param secret where a webhook may have its secret in this place
 */
export function complaintAboutHooks(hooks: Hooks | undefined, secret: 'secretFile' | 'secretRef'): string | undefined {
  for (const moment of momentNames)
    for (const [at, hook] of hooksAt(hooks, moment).entries()) {
      const why = whyWrong(hook, moment, secret)
      if (why !== undefined) return `hooks.${moment}.${at}${why}`
    }
  return undefined
}

function whyWrong(hook: Hook, moment: HookMoment, secret: 'secretFile' | 'secretRef'): string | undefined {
  const { command, shell, webhook, onFailure } = hook
  const said = [command, shell, webhook].filter((one) => one !== undefined)
  if (said.length !== 1) return ` has ${said.length} of command, shell and webhook; allowed is exactly one of them`
  if (onFailure === 'continue' && moment === 'powerOff')
    return '.onFailure is "continue"; allowed at powerOff is stop: a hook that fails proves nothing'
  if (onFailure === 'stop' && !waitedFor.includes(moment))
    return `.onFailure is "stop"; allowed at ${moment} is continue: only what has not begun can be stopped`
  if (command !== undefined) return whyWrongCommand(command)
  if (shell !== undefined) return whyWrongText('.shell', shell)
  return webhook && whyWrongWebhook(webhook, secret)
}

function whyWrongCommand(command: readonly string[]): string | undefined {
  if (command[0]?.trim() === '') return '.command.0 is ""; allowed is the path or name of a program'
  const wrong = command.map((text, at) => whyWrongText(`.command.${at}`, text))
  return wrong.find((why) => why !== undefined)
}

function whyWrongText(path: string, text: string): string | undefined {
  if (text.includes('\0')) return `${path} holds a NUL character, which no program can be given`
  if (path === '.shell' && text.trim() === '') return `${path} is ${JSON.stringify(text)}; allowed is a line for sh -c`
  const stranger = strangerIn(text)
  return stranger === undefined
    ? undefined
    : `${path} has the unknown placeholder ${stranger.found}; allowed are ${stranger.allowed}`
}

function whyWrongWebhook(webhook: Webhook, secret: 'secretFile' | 'secretRef'): string | undefined {
  const parsed = urlOf(webhook.url)
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol))
    return '.webhook.url is no http or https URL; allowed is one such as https://example.com/regent'
  if (parsed.username !== '' || parsed.password !== '')
    return `.webhook.url holds a user name or password; allowed is a URL without, and a secret in ${secret}`
  const other = secret === 'secretFile' ? 'secretRef' : 'secretFile'
  return webhook[other] === undefined ? undefined : `.webhook has ${other}; allowed in this place is ${secret}`
}
