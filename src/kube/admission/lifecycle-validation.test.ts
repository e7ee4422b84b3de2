import { describe, expect, it } from 'vitest'
import { aCluster } from '../testing.ts'
import { validateMySQLCluster } from './cluster-validation.ts'

const verdictOn = (lifecycle: object, spec: object = {}) =>
  validateMySQLCluster(aCluster({ image: 'mysql:8.4.3', lifecycle, ...spec }))
const script = (name: string, more: object = {}) =>
  JSON.stringify([{ name, exec: { command: ['sh', '-c', 'echo $(hostname)'], ...more } }])

describe('a cluster whose agents serve lifecycle actions', () => {
  it.each<[string, object]>([
    ['with a token', { tokenSecret: { name: 'callers' } }],
    ['with scripts beside the built-in actions', { tokenSecret: { name: 'callers' }, actions: script('backup') }],
    [
      'with a stream and ports of its own',
      {
        tokenSecret: { name: 'callers' },
        port: 3601,
        streamingPort: 3602,
        actions: script('backup'),
        streaming: 'backup',
      },
    ],
  ])('may be, %s', (_what, lifecycle) => {
    expect(verdictOn(lifecycle)).toEqual({ refusals: [], warnings: [] })
  })

  it('hears that an open port is open, and which right probes need', () => {
    const { refusals, warnings } = verdictOn({ open: true, probes: '[{"instance":"shop","action":"roleProbe"}]' })
    expect(refusals).toEqual([])
    expect(warnings).toEqual([
      'spec.lifecycle.open is true: whoever reaches port 3501 or 3502 of a pod may run every action; give tokenSecret, or a NetworkPolicy',
      'spec.lifecycle: probes report Events as account shop-agents, which Regent gives no rights: bind a Role with get, create and update of events to the account',
    ])
  })

  const sidecar = { name: 'exporter', ports: [{ containerPort: 3501 }] }
  it.each<[string, object, string, object?]>([
    [
      'nobody says who may call',
      {},
      'spec.lifecycle does not say who may call; give either tokenSecret, or open with true',
    ],
    ['it is open with a token', { open: true, tokenSecret: { name: 'callers' } }, 'does not say who may call'],
    [
      'the token is one of Regent’s own',
      { tokenSecret: { name: 'shop-internal' } },
      'spec.lifecycle.tokenSecret.name is "shop-internal"; allowed is a Secret that is not Regent’s own',
    ],
    [
      'a name is none',
      { tokenSecret: { name: 'Callers' } },
      'spec.lifecycle.tokenSecret.name is "Callers"; allowed is the name of an object',
    ],
    ['both ports are one', { open: true, port: 3502 }, 'spec.lifecycle.port and streamingPort are both 3502'],
    [
      'a port is mysqld’s',
      { open: true, port: 3306 },
      'spec.lifecycle.port is 3306, which Regent or mysqld has; allowed is a port that is free',
    ],
    [
      'a port is another container’s',
      { open: true },
      'spec.lifecycle.port is 3501, which container exporter has',
      { pod: { containers: [sidecar] } },
    ],
    [
      'a volume has the name of one of its own',
      { open: true },
      'spec.pod.volumes is "lifecycle-token"; allowed with spec.lifecycle are names other than',
      { pod: { volumes: [{ name: 'lifecycle-token', emptyDir: {} }] } },
    ],
    ['actions are no JSON', { open: true, actions: '[' }, 'spec.lifecycle.actions: its value is not JSON'],
    [
      'an action is wrong',
      { open: true, actions: '[{"name":"x","exec":{"command":"ls"}}]' },
      'spec.lifecycle.actions: action "x": exec.command is "ls"; allowed is a list',
    ],
    [
      'an action wants an image of its own',
      { open: true, actions: script('x', { image: 'client:1' }) },
      'spec.lifecycle.actions: action "x" has exec.image; allowed is none',
    ],
    [
      'a probe is of no action',
      { open: true, probes: '[{"instance":"shop","action":"nothing"}]' },
      'spec.lifecycle.probes: "nothing" is no action of spec.lifecycle.actions',
    ],
    [
      'a built-in action that is no stream is to be streamed',
      { open: true, streaming: 'dataDump,roleProbe' },
      'spec.lifecycle.streaming: "roleProbe" is no action of spec.lifecycle.actions; there are dataDump',
    ],
    [
      'a ConfigMap says the same',
      { open: true, configMap: 'shop-env', actions: script('x') },
      'spec.lifecycle.configMap stands for actions, probes and streaming; give either configMap or these',
    ],
  ])('is refused where %s', (_what, lifecycle, sentence, spec = {}) => {
    const messages = verdictOn(lifecycle, spec).refusals.map(({ message }) => message)
    expect(messages).toEqual([expect.stringContaining(sentence)])
  })
})
