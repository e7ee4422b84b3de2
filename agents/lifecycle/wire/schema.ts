import type { JsonSchema } from '#common/input/json-schema.ts'

/**
 * What the shapes of `definitions.ts` and `calls.ts` must be. Unknown fields are allowed everywhere: a newer writer may
 * know more of them.
 */
function open(properties: Readonly<Record<string, JsonSchema>>, required: readonly string[] = []) {
  return { type: 'object', properties, required } as const
}

const textValue = { type: 'string' }
const named = { type: 'string', minLength: 1, maxLength: 253 }
const yesOrNo = { type: 'boolean' }
const int32 = { type: 'integer', minimum: -2_147_483_648, maximum: 2_147_483_647 }
const texts = { type: 'array', items: textValue }
const textByName = { type: 'object', patternProperties: { '^': textValue } }
const retryPolicy = open({ maxRetries: int32, retryInterval: { type: 'number' } })

export const actionSchema = open(
  {
    name: named,
    exec: open({ command: texts, args: texts }),
    http: open(
      {
        port: textValue,
        host: textValue,
        scheme: textValue,
        path: textValue,
        method: textValue,
        body: textValue,
        headers: { type: 'array', items: open({ name: named, value: textValue }, ['name', 'value']) },
      },
      ['port'],
    ),
    grpc: open(
      {
        port: textValue,
        host: textValue,
        service: named,
        method: named,
        request: textByName,
        response: open({ status: textValue, message: textValue }),
      },
      ['port', 'service', 'method'],
    ),
    nonBlocking: yesOrNo,
    timeoutSeconds: int32,
    retryPolicy,
  },
  ['name'],
)

export const probeSchema = open(
  {
    instance: textValue,
    action: named,
    initialDelaySeconds: int32,
    periodSeconds: int32,
    successThreshold: int32,
    failureThreshold: int32,
    reportPeriodSeconds: int32,
    reportOnFileChange: texts,
  },
  ['action'],
)

export const taskSchema = open(
  {
    instance: textValue,
    task: named,
    UID: textValue,
    replicas: textValue,
    notifyAtFinish: yesOrNo,
    reportPeriodSeconds: int32,
    newReplica: open(
      {
        remote: named,
        port: { type: 'integer', minimum: 1, maximum: 65_535 },
        replicas: textValue,
        parameters: textByName,
        timeoutSeconds: int32,
      },
      ['remote', 'port'],
    ),
  },
  ['instance', 'task', 'UID', 'replicas'],
)

export const actionRequestSchema = open(
  {
    action: textValue,
    parameters: textByName,
    nonBlocking: yesOrNo,
    arguments: { type: 'array', items: texts },
    timeoutSeconds: int32,
    retryPolicy,
    rerun: yesOrNo,
    token: textValue,
    framing: { type: 'string', pattern: '^[0-9a-f]{32}$', allowed: '32 lower-case hexadecimal digits' },
  },
  ['action'],
)
