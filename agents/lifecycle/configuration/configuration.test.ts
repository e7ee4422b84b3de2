import { describe, expect, it } from 'vitest'
import { readActions, readConfiguration, readTasks } from './configuration.ts'
import { readPodIdentity } from './pod-identity.ts'

const action = (name: string) => ({ name, exec: { command: ['true'] } })
const actions = JSON.stringify([action('roleProbe'), action('dataDump')])
const probe = JSON.stringify([{ instance: 'shop-mysql', action: 'roleProbe', periodSeconds: 1 }])

describe('the configuration of a lifecycle agent', () => {
  it('reads actions, probes and what may be streamed', () => {
    const configuration = readConfiguration({
      KB_AGENT_ACTION: actions,
      KB_AGENT_PROBE: probe,
      KB_AGENT_STREAMING: 'dataDump, ,',
    })
    expect([...(configuration.actions?.keys() ?? [])]).toEqual(['roleProbe', 'dataDump'])
    expect(configuration.probes).toEqual([{ instance: 'shop-mysql', action: 'roleProbe', periodSeconds: 1 }])
    expect([...configuration.streaming]).toEqual(['dataDump'])
  })

  it('reads nothing else without actions', () => {
    const configuration = readConfiguration({ KB_AGENT_PROBE: 'no JSON', KB_AGENT_STREAMING: 'x' })
    expect(configuration).toEqual({ actions: null, probes: [], streaming: new Set() })
  })

  it('reads nothing of streaming without probes, and takes null for a list of probes', () => {
    expect(readConfiguration({ KB_AGENT_ACTION: actions, KB_AGENT_STREAMING: 'nobody' }).streaming.size).toBe(0)
    const withNull = readConfiguration({
      KB_AGENT_ACTION: actions,
      KB_AGENT_PROBE: 'null',
      KB_AGENT_STREAMING: 'dataDump',
    })
    expect([withNull.probes, withNull.streaming.size]).toEqual([[], 1])
  })

  it('lets what the agent streams itself be named, and nothing else that is built in', () => {
    const builtIn = new Map([
      ['copy', { stream: () => undefined }],
      ['readonly', {}],
    ])
    const environment = (names: string) => ({ KB_AGENT_PROBE: 'null', KB_AGENT_STREAMING: names })
    expect([...readConfiguration(environment('copy'), builtIn).streaming]).toEqual(['copy'])
    expect(() => readConfiguration(environment('readonly'), builtIn)).toThrow('"readonly" is no action')
  })

  it('takes null for a field that is not there, and fields that it does not know', () => {
    const list = [{ name: 'a', exec: { command: ['true'], image: 'x' }, http: null, grpc: null, future: { deep: 1 } }]
    expect(readActions({ KB_AGENT_ACTION: JSON.stringify(list) }).get('a')).toEqual({
      name: 'a',
      exec: { command: ['true'], image: 'x' },
      future: { deep: 1 },
    })
  })

  it.each([
    ['{"name":"a"}', 'KB_AGENT_ACTION: the top level is no list; allowed is a JSON list of actions'],
    ['[{"name":', /^KB_AGENT_ACTION: its value is not JSON in UTF-8: /],
    ['['.repeat(99) + ']'.repeat(99), 'KB_AGENT_ACTION: its value is nested too deeply: more than 64 levels'],
    ['[7]', /^KB_AGENT_ACTION: action 1 of 1: the top level is 7; allowed is a mapping/],
    ['[{"name":"a"},{"exec":{}}]', 'KB_AGENT_ACTION: action 2 of 2: the top level lacks "name"'],
    ['[{"name":"a","exec":{"command":"ls"}}]', 'KB_AGENT_ACTION: action "a": exec.command is "ls"; allowed is a list'],
    [
      '[{"name":"a","exec":{"command":["ls",1]}}]',
      'KB_AGENT_ACTION: action "a": exec.command.1 is 1; allowed is a text',
    ],
    [
      '[{"name":"a","timeoutSeconds":1.5}]',
      /^KB_AGENT_ACTION: action "a": timeoutSeconds is 1.5; allowed is an integer/,
    ],
    ['[{"name":"a","http":{}}]', 'KB_AGENT_ACTION: action "a": http lacks "port"'],
    ['[{"name":"a"},{"name":"a"}]', 'KB_AGENT_ACTION: action "a" is there twice; each name is allowed once'],
  ])('refuses %s, naming action and field', (text, message) => {
    expect(() => readConfiguration({ KB_AGENT_ACTION: text })).toThrow(
      expect.objectContaining({
        code: 'REGENT_BAD_ENVIRONMENT',
        message: typeof message === 'string' ? message : (expect.stringMatching(message) as string),
      }) as Error,
    )
  })

  it('refuses a probe and a stream of an action that is not there', () => {
    const stray = JSON.stringify([{ instance: 'x', action: 'missing' }])
    expect(() => readConfiguration({ KB_AGENT_ACTION: actions, KB_AGENT_PROBE: stray })).toThrow(
      'KB_AGENT_PROBE: "missing" is no action of KB_AGENT_ACTION; there are roleProbe, dataDump',
    )
    const streaming = { KB_AGENT_ACTION: '[]', KB_AGENT_PROBE: '[]', KB_AGENT_STREAMING: 'dataLoad' }
    expect(() => readConfiguration(streaming)).toThrow(
      'KB_AGENT_STREAMING: "dataLoad" is no action of KB_AGENT_ACTION; there is none',
    )
  })

  it('reads the tasks of a worker', () => {
    const task = {
      instance: 'shop-mysql',
      task: 'newReplica',
      UID: 'u',
      replicas: 'shop-mysql-1',
      newReplica: { remote: '10.0.0.1', port: 3502, replicas: 'shop-mysql-1' },
    }
    expect(readTasks({ KB_AGENT_TASK: JSON.stringify([task]) })).toEqual([task])
    expect(readTasks({})).toEqual([])
    const broken = JSON.stringify([{ ...task, newReplica: { remote: 'x', port: 0 } }])
    expect(() => readTasks({ KB_AGENT_TASK: broken })).toThrow(
      'KB_AGENT_TASK: task "newReplica": newReplica.port is 0; allowed is an integer from 1 to 65535',
    )
  })
})

describe('the pod of a lifecycle agent', () => {
  const whole = { KB_AGENT_NAMESPACE: 'n', KB_AGENT_POD_NAME: 'p', KB_AGENT_POD_UID: 'u', KB_AGENT_NODE_NAME: 'w' }

  it('is what the downward API says, or nothing', () => {
    expect(readPodIdentity(whole)).toEqual({ namespace: 'n', name: 'p', uid: 'u', node: 'w' })
    expect(readPodIdentity({})).toBeUndefined()
  })

  it('is refused half-told, with the field that is missing', () => {
    expect(() => readPodIdentity({ ...whole, KB_AGENT_POD_UID: '' })).toThrow(
      'KB_AGENT_POD_UID is not set beside the other KB_AGENT_ variables; it takes the downward API’s metadata.uid',
    )
  })
})
