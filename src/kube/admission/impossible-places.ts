import { type Said, say } from '#common/sentence/sentence.ts'

/** What `spec.scheduling` may say of where pods run, as Kubernetes has it; only what is looked at here. */
export interface SaidOfPlaces {
  readonly nodeSelector?: Readonly<Record<string, string>>
  readonly affinity?: {
    readonly nodeAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?: { readonly nodeSelectorTerms?: readonly NodeTerm[] }
    }
    readonly podAffinity?: { readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly PodTerm[] }
    readonly podAntiAffinity?: { readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly PodTerm[] }
  }
}

interface Requirement {
  readonly key?: string
  readonly operator?: string
  readonly values?: readonly string[]
}

interface NodeTerm {
  readonly matchExpressions?: readonly Requirement[]
}

interface PodTerm {
  readonly topologyKey?: string
  readonly labelSelector?: { readonly matchLabels?: Labels; readonly matchExpressions?: readonly Requirement[] }
}

type Labels = Readonly<Record<string, string>>
type Affinity = NonNullable<SaidOfPlaces['affinity']>

/**
 * Why what is said of places can be met by no node at all, whichever there are: such pods would stay `Pending` without
 * an end.
 * @param pod the labels of the cluster's own pods
 * @returns '' where nothing contradicts itself
 */
export function whyNowhere({ nodeSelector = {}, affinity = {} }: SaidOfPlaces, pod: Labels): Said {
  return noNode(nodeSelector, affinity.nodeAffinity) || together(affinity, pod)
}

function noNode(nodeSelector: Labels, affinity: Affinity['nodeAffinity']): Said {
  const terms = affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  const impossible = terms.map(({ matchExpressions = [] }) =>
    contradictionIn([...requirementsOf(nodeSelector), ...matchExpressions]),
  )
  const [first = ''] = impossible
  // A node need meet one of the terms only.
  return terms.length > 0 && impossible.every((why) => why !== '')
    ? say`required nodeAffinity and nodeSelector contradict each other: ${first}`
    : ''
}

/** Together and apart at once. */
function together({ podAffinity, podAntiAffinity }: Affinity, pod: Labels): Said {
  const wanted = ofSiblings(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution, pod)
  const apart = ofSiblings(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution, pod)
  const both = wanted.find((key) => apart.includes(key))
  return both === undefined
    ? ''
    : say`required podAffinity wants the instances in one ${both}, and required podAntiAffinity wants each in another`
}

/** In which topologies pods of the cluster itself are meant. */
function ofSiblings(terms: readonly PodTerm[] | undefined, pod: Labels): readonly string[] {
  const meansSiblings = ({ labelSelector }: PodTerm): boolean => {
    if (labelSelector === undefined) return false
    const { matchLabels = {}, matchExpressions = [] } = labelSelector
    return [...requirementsOf(matchLabels), ...matchExpressions].every((one) => meets(one, pod))
  }
  return (terms ?? [])
    .filter(meansSiblings)
    .flatMap(({ topologyKey }) => (topologyKey === undefined ? [] : [topologyKey]))
}

function requirementsOf(labels: Labels): readonly Requirement[] {
  return Object.entries(labels).map(([key, value]) => ({ key, operator: 'In', values: [value] }))
}

function meets({ key = '', operator, values = [] }: Requirement, labels: Labels): boolean {
  const value = labels[key]
  if (operator === 'In') return value !== undefined && values.includes(value)
  if (operator === 'NotIn') return value === undefined || !values.includes(value)
  return operator === 'Exists' ? value !== undefined : operator === 'DoesNotExist' && value === undefined
}

function contradictionIn(requirements: readonly Requirement[]): Said {
  for (const key of new Set(requirements.map((one) => one.key ?? ''))) {
    const said = requirements.filter((one) => (one.key ?? '') === key)
    const lists = said.filter(({ operator }) => operator === 'In').map(({ values = [] }) => values)
    const mustBe = said.some(({ operator }) => ['In', 'Exists', 'Gt', 'Lt'].includes(operator ?? ''))
    if (mustBe && said.some(({ operator }) => operator === 'DoesNotExist'))
      return say`${key} must be there and must not`
    const not = said.filter(({ operator }) => operator === 'NotIn').flatMap(({ values = [] }) => values)
    const left =
      lists.length === 0
        ? undefined
        : lists
            .reduce((all, list) => all.filter((value) => list.includes(value)))
            .filter((value) => !not.includes(value))
    if (left?.length === 0) return say`no value of ${key} is left`
  }
  return ''
}
