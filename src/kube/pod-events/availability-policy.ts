import { jsonObject } from './messages.ts'

/** When a component counts as available, in the words of `spec.available` of KubeBlocks' ComponentDefinition. */
export interface AvailabilityPolicy {
  /** Phases, with commas between them: `Running,Updating`. */
  readonly withPhases?: string
  /** A role that some pod must have. */
  readonly withRole?: string
  /** What the pods' probes must say; overrides the two above. */
  readonly withProbe?: {
    /** How old a pod's word may be; twice the report period unless given. */
    readonly timeWindowSeconds?: number
    readonly condition?: Condition
    readonly description?: string
  }
}

/** All that is given must hold. */
export interface Condition {
  readonly all?: Assertion
  readonly any?: Assertion
  readonly none?: Assertion
  /** What more than half of the replicas must say: half of those there should be, not of those that were heard. */
  readonly majority?: Assertion
  readonly and?: readonly Condition[]
  readonly or?: readonly Condition[]
  readonly not?: Condition
}

/** What the word of one pod must be; all that is given must hold. */
export interface Assertion {
  readonly succeed?: boolean
  readonly stdout?: TextMatch
  readonly stderr?: TextMatch
  readonly and?: readonly Assertion[]
  readonly or?: readonly Assertion[]
  readonly not?: Assertion
  /** Holds only where every replica there should be was heard. */
  readonly strict?: boolean
}

export interface TextMatch {
  readonly equalTo?: string
  readonly contains?: string
}

/** Where nothing is said and pods report `availableProbe`: the probe of every replica succeeds. */
export const defaultPolicy: AvailabilityPolicy = {
  withProbe: { condition: { all: { succeed: true, strict: true } } },
}

/** @throws SyntaxError that names the field that is wrong */
export function availabilityPolicyIn(text: string): AvailabilityPolicy {
  const policy = jsonObject(text)
  if (policy === undefined) throw new SyntaxError('it is no JSON object')
  check(policy, '', policyShape)
  if (Object.keys(policy).length === 0) throw new SyntaxError('it says nothing')
  return policy
}

type Check = (value: unknown, path: string) => void
type Shape = Readonly<Record<string, Check>>

const ofType =
  (type: 'string' | 'boolean'): Check =>
  (value, path) => {
    if (typeof value !== type) throw new SyntaxError(`${path} is no ${type}`)
  }
const listOf =
  (each: Check): Check =>
  (value, path) => {
    if (!Array.isArray(value) || value.length === 0) throw new SyntaxError(`${path} is no list of conditions`)
    value.forEach((item, at) => each(item, `${path}[${at}]`))
  }
/** The shape is asked for late: conditions hold conditions. */
const object =
  (shape: () => Shape): Check =>
  (value, path) => {
    check(value, path, shape())
    if (Object.keys(value as object).length === 0) throw new SyntaxError(`${path} says nothing`)
  }

function check(value: unknown, path: string, shape: Shape): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new SyntaxError(`${path} is no object`)
  for (const [field, inner] of Object.entries(value)) {
    const at = path === '' ? field : `${path}.${field}`
    const known = Object.hasOwn(shape, field) ? shape[field] : undefined
    if (known === undefined) throw new SyntaxError(`${at} is not known; known are ${Object.keys(shape).join(', ')}`)
    known(inner, at)
  }
}

const seconds: Check = (value, path) => {
  if (typeof value !== 'number' || !(value > 0 && value <= 86_400))
    throw new SyntaxError(`${path} is no number from 1 to 86400`)
}
const text = object(() => ({ equalTo: ofType('string'), contains: ofType('string') }))
const assertion: Check = object(() => assertionShape)
const condition: Check = object(() => conditionShape)

const assertionShape: Shape = {
  succeed: ofType('boolean'),
  stdout: text,
  stderr: text,
  and: listOf(assertion),
  or: listOf(assertion),
  not: assertion,
  strict: ofType('boolean'),
}
const conditionShape: Shape = {
  ...{ all: assertion, any: assertion, none: assertion, majority: assertion },
  ...{ and: listOf(condition), or: listOf(condition), not: condition },
}
const policyShape: Shape = {
  withPhases: ofType('string'),
  withRole: ofType('string'),
  withProbe: object(() => ({ timeWindowSeconds: seconds, condition, description: ofType('string') })),
}
