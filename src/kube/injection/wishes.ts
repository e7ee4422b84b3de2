import type { V1EnvVar } from '@kubernetes/client-node'
import { readConfiguration } from '#agents/lifecycle/configuration/configuration.ts'
import type { Action } from '#agents/lifecycle/wire/definitions.ts'
import { RegentError } from '#common/errors/errors.ts'
import { renamed, reported, say } from '#common/sentence/sentence.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import { askPrefix, asks } from './marks.ts'
import { refusal } from './refusal.ts'

/** What a pod asks for. */
export interface Wishes {
  /** What the agent serves, as texts of its variables; undefined where the ConfigMap says it. */
  readonly served: Served | undefined
  /** A ConfigMap whose keys become variables. */
  readonly configMap: string | undefined
  /** Variables that the actions ask for. */
  readonly env: readonly V1EnvVar[]
  /** The image that the agent runs in; undefined for Regent's own. */
  readonly image: string | undefined
  /** The container whose volumes the agent sees, by name. */
  readonly container: string | undefined
  /** The Secret with the token of callers; undefined where callers send none. */
  readonly tokenSecret: string | undefined
}

interface Served {
  readonly actions: string
  readonly probes: string
  readonly streaming: string
}

type Annotations = Readonly<Record<string, string>>

/**
 * Reads what the annotations ask for; undefined where they ask for no agent. Throws `REGENT_NOT_INJECTED` where they
 * cannot be followed.
 */
export function readWishes(annotations: Annotations): Wishes | undefined {
  if (!isYes(annotations, asks.inject)) return undefined
  refuseUnknown(annotations)
  const read = servedIn(annotations)
  const configMap = textIn(annotations, asks.configMap)
  if (read === undefined && configMap === undefined)
    throw refusal(
      say`nothing says what the agent serves; give ${asks.actions} a JSON list of actions, or ${asks.configMap} the name of a ConfigMap with the key KB_AGENT_ACTION`,
    )
  const asked = read === undefined ? [] : partsIn(read.actions)
  return {
    served: read?.served,
    configMap,
    env: firstOfEachName(asked.flatMap(({ env = [] }) => env)),
    image: theOnly('image', asks.image, [textIn(annotations, asks.image), ...asked.map(({ image }) => image)]),
    container: theOnly('container', asks.container, [
      textIn(annotations, asks.container),
      ...asked.map(({ container }) => container),
    ]),
    tokenSecret: tokenSecretIn(annotations),
  }
}

/** A misspelt annotation would be passed over in silence otherwise. */
function refuseUnknown(annotations: Annotations): void {
  const known: readonly string[] = Object.values(asks)
  const stray = Object.keys(annotations).find((key) => key.startsWith(askPrefix) && !known.includes(key))
  if (stray !== undefined) throw refusal(say`annotation ${stray} is not known; there are ${known.join(', ')}`)
}

function tokenSecretIn(annotations: Annotations): string | undefined {
  const [isOpen, secret] = [isYes(annotations, asks.open), textIn(annotations, asks.tokenSecret)]
  if (isOpen && secret !== undefined)
    throw refusal(say`${asks.tokenSecret} asks for a token and ${asks.open} for none; give one of them`)
  if (!isOpen && secret === undefined)
    throw refusal(
      say`who may call the agent is not said; give ${asks.tokenSecret} the name of a Secret with the key token, or ${asks.open} "true" for callers of KubeBlocks`,
    )
  return secret
}

interface Read {
  readonly served: Served
  readonly actions: readonly Action[]
}

/** Checked as the agent itself checks them, so that no pod is made whose agent would end at once. */
function servedIn(annotations: Annotations): Read | undefined {
  const actions = textIn(annotations, asks.actions)
  const [probes, streaming] = [textIn(annotations, asks.probes), textIn(annotations, asks.streaming)]
  if (actions === undefined) {
    const lonely = probes === undefined ? asks.streaming : asks.probes
    if (probes !== undefined || streaming !== undefined)
      throw refusal(
        say`${lonely} is without ${asks.actions}; put all three into annotations, or all into the ConfigMap`,
      )
    return undefined
  }
  const served = { actions, probes: probes ?? 'null', streaming: streaming ?? '' }
  try {
    const { actions: known } = readConfiguration({
      KB_AGENT_ACTION: served.actions,
      KB_AGENT_PROBE: served.probes,
      KB_AGENT_STREAMING: served.streaming,
    })
    return { served, actions: [...(known ?? new Map<string, never>()).values()] }
  } catch (error) {
    if (error instanceof RegentError) throw refusal(renamed(error.said, annotationOf), error)
    throw error
  }
}

/** The agent's sentence names variables; whoever reads the refusal wrote annotations. */
const annotationOf: Readonly<Record<string, string>> = {
  KB_AGENT_ACTION: asks.actions,
  KB_AGENT_PROBE: asks.probes,
  KB_AGENT_STREAMING: asks.streaming,
}

/** What KubeBlocks' actions say of the container they run in. */
interface PodPart {
  readonly image?: string
  readonly container?: string
  readonly env?: readonly V1EnvVar[]
}

const podPartSchema = {
  type: 'object',
  properties: {
    image: { type: 'string', minLength: 1, maxLength: 512 },
    container: { type: 'string', minLength: 1, maxLength: 63 },
    env: {
      type: 'array',
      items: { type: 'object', properties: { name: { type: 'string', minLength: 1 } }, required: ['name'] },
    },
  },
  required: [],
} as const

function partsIn(actions: readonly Action[]): readonly PodPart[] {
  return actions.flatMap(({ name, exec }) => {
    if (exec === undefined) return []
    const complaint = complaintAbout(podPartSchema, exec)
    if (complaint !== undefined) throw refusal(say`${asks.actions}: action "${name}": exec.${reported(complaint)}`)
    return [exec as PodPart]
  })
}

/** All actions run in one container. */
function theOnly(noun: string, annotation: string, named: readonly (string | undefined)[]): string | undefined {
  const different = [...new Set(named.filter((one) => one !== undefined))]
  if (different.length <= 1) return different[0]
  throw refusal(
    say`${asks.actions} and ${annotation} name more than one ${noun}: ${different.join(', ')}; all actions run in one container, so name one`,
  )
}

function firstOfEachName(env: readonly V1EnvVar[]): readonly V1EnvVar[] {
  return env.filter(({ name }, at) => env.findIndex((other) => other.name === name) === at)
}

function isYes(annotations: Annotations, annotation: string): boolean {
  const value = annotations[annotation] ?? 'false'
  if (value !== 'true' && value !== 'false')
    throw refusal(say`${annotation} is "${value.slice(0, 60)}"; allowed is "true" or "false"`)
  return value === 'true'
}

function textIn(annotations: Annotations, annotation: string): string | undefined {
  const value = annotations[annotation]?.trim()
  return value === '' ? undefined : value
}
