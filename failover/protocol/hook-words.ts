import { hostPort } from '#common/text/host-port.ts'
import type { HookDocument, ToldInstance } from './hook-document.ts'

type WordOf = (told: HookDocument) => string

const at = (instance: ToldInstance | null): string => (instance === null ? '' : hostPort(instance.host, instance.port))
const list = (instances: readonly ToldInstance[]): string => instances.map(at).join(',')

/** Orchestrator says master in the codes of analyses. */
const asOrchestratorSays = (code: string): string => code.replaceAll('Primary', 'Master')

const replicasOf: WordOf = ({ replicas }) => list(replicas)
const lostOf: WordOf = ({ lostReplicas }) => list(lostReplicas)
const countOf: WordOf = ({ replicas }) => String(replicas.length)
const aliasOf: WordOf = ({ cluster }) => cluster

/** What stands for a placeholder `{…}` in commands: orchestrator's names, and Regent's own. */
const placeholders = {
  // Where nothing is wrong, as at a switchover, orchestrator says so too.
  failureType: ({ recovery }) => asOrchestratorSays(recovery.failureType || 'DeadPrimary'),
  instanceType: () => 'master',
  isMaster: () => 'true',
  isCoMaster: () => 'false',
  failureDescription: ({ recovery }) => recovery.sentence,
  command: ({ recovery, automatic }) => {
    if (recovery.kind === 'switchover') return 'graceful-master-takeover'
    return automatic ? '' : 'force-master-failover'
  },
  failedHost: ({ failed }) => failed?.host ?? '',
  failedPort: ({ failed }) => String(failed?.port ?? ''),
  failureCluster: ({ failed }) => at(failed),
  failureClusterAlias: aliasOf,
  failureClusterDomain: () => '',
  countSlaves: countOf,
  countReplicas: countOf,
  isDowntimed: () => 'false',
  autoMasterRecovery: ({ automatic }) => String(automatic),
  autoIntermediateMasterRecovery: () => 'false',
  orchestratorHost: ({ manager }) => manager,
  recoveryUID: ({ recovery }) => recovery.id,
  isSuccessful: ({ recovery }) => String(recovery.outcome === 'succeeded'),
  successorHost: ({ successor }) => successor?.host ?? '',
  successorPort: ({ successor }) => String(successor?.port ?? ''),
  successorBinlogCoordinates: ({ successorGtids }) => successorGtids,
  successorAlias: ({ successor }) => successor?.instance ?? '',
  lostSlaves: lostOf,
  lostReplicas: lostOf,
  countLostReplicas: ({ lostReplicas }) => String(lostReplicas.length),
  slaveHosts: replicasOf,
  replicaHosts: replicasOf,
  moment: ({ moment }) => moment,
  cluster: aliasOf,
  namespace: ({ namespace }) => namespace ?? '',
  failedInstance: ({ failed }) => failed?.instance ?? '',
  successorInstance: ({ successor }) => successor?.instance ?? '',
} as const satisfies Readonly<Record<string, WordOf>>

export type Placeholder = keyof typeof placeholders
export const placeholderNames = Object.keys(placeholders) as readonly Placeholder[]

/** `{name}`, and no `${name}` of a shell. */
const placeholder = /(?<!\$)\{([A-Za-z]+)\}/g

function isKnown(name: string): name is Placeholder {
  return Object.hasOwn(placeholders, name)
}

/** A placeholder in a command that is none; undefined where all are known. */
export function strangerIn(text: string): { readonly found: string; readonly allowed: string } | undefined {
  const found = [...text.matchAll(placeholder)].find(([, name = '']) => !isKnown(name))
  return found && { found: found[0], allowed: placeholderNames.map((name) => `{${name}}`).join(', ') }
}

/** The text with its placeholders filled in. */
export function filledIn(text: string, told: HookDocument, quoted: (word: string) => string = (word) => word): string {
  return text.replaceAll(placeholder, (all, name: string) => (isKnown(name) ? quoted(placeholders[name](told)) : all))
}

/**
 * A word as a line of a shell takes it, whether or not it stands in quotes: what a shell would read as more than a word
 * is left out. The environment has all of it.
 */
export function harmless(word: string): string {
  return word.replaceAll(/[^\p{L}\p{N} .,:@/+=_-]/gu, '')
}

/** `ORC_FAILURE_TYPE` for `failureType`. */
const asVariable = (name: string): string =>
  name
    .replace('UID', 'Uid')
    .replaceAll(/([A-Z])/g, '_$1')
    .toUpperCase()

const ofRegent: Readonly<Record<string, WordOf>> = {
  REGENT_MOMENT: ({ moment }) => moment,
  REGENT_KEY: ({ key }) => key,
  REGENT_TEST: ({ test }) => String(test),
  REGENT_CLUSTER: aliasOf,
  REGENT_NAMESPACE: ({ namespace }) => namespace ?? '',
  REGENT_MODE: ({ mode }) => mode,
  REGENT_RECOVERY: ({ recovery }) => recovery.id,
  REGENT_KIND: ({ recovery }) => recovery.kind,
  REGENT_OUTCOME: ({ recovery }) => recovery.outcome,
  REGENT_FAILURE_TYPE: ({ recovery }) => recovery.failureType,
  REGENT_SENTENCE: ({ recovery }) => recovery.sentence,
  REGENT_TEXT: ({ text }) => text,
  REGENT_AUTOMATIC: ({ automatic }) => String(automatic),
  REGENT_FAILED_INSTANCE: ({ failed }) => failed?.instance ?? '',
  REGENT_FAILED_HOST: ({ failed }) => failed?.host ?? '',
  REGENT_FAILED_PORT: ({ failed }) => String(failed?.port ?? ''),
  REGENT_SUCCESSOR_INSTANCE: ({ successor }) => successor?.instance ?? '',
  REGENT_SUCCESSOR_HOST: ({ successor }) => successor?.host ?? '',
  REGENT_SUCCESSOR_PORT: ({ successor }) => String(successor?.port ?? ''),
  REGENT_REPLICAS: replicasOf,
  REGENT_LOST_REPLICAS: lostOf,
}

/** Environment variables of a command: Regent's, and orchestrator's for each of its placeholders. */
export function variablesOf(told: HookDocument): Readonly<Record<string, string>> {
  const own = Object.entries(ofRegent).map(([name, wordOf]) => [name, wordOf(told)] as const)
  const orchestrators = placeholderNames.map((name) => [`ORC_${asVariable(name)}`, placeholders[name](told)] as const)
  // No program can be given a NUL.
  return Object.fromEntries([...orchestrators, ...own].map(([name, word]) => [name, word.replaceAll('\0', ' ')]))
}
