import { describe, expect, it } from 'vitest'
import { whyNowhere, type SaidOfPlaces } from './impossible-places.ts'

const pod = { 'regent.dev/cluster': 'shop', tier: 'gold' }
const zone = 'topology.kubernetes.io/zone'
const term = (key: string, operator: string, ...values: readonly string[]) => ({ key, operator, values })
const onNodes = (...terms: readonly (readonly ReturnType<typeof term>[])[]): SaidOfPlaces => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: terms.map((matchExpressions) => ({ matchExpressions })),
      },
    },
  },
})
const pods = (topologyKey: string, matchLabels: Readonly<Record<string, string>>) => ({
  requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: { matchLabels } }],
})

describe('what is said of places', () => {
  it.each<[string, SaidOfPlaces, string]>([
    [
      'one value and another',
      onNodes([term('disk', 'In', 'ssd'), term('disk', 'In', 'hdd')]),
      'no value of disk is left',
    ],
    [
      'a value and not that value',
      onNodes([term('disk', 'In', 'ssd'), term('disk', 'NotIn', 'ssd')]),
      'no value of disk is left',
    ],
    [
      'a label that must be there and must not',
      onNodes([term('disk', 'Exists'), term('disk', 'DoesNotExist')]),
      'disk must be there and must not',
    ],
    [
      'a nodeSelector that is refused',
      { nodeSelector: { disk: 'ssd' }, ...onNodes([term('disk', 'In', 'hdd')]) },
      'no value of disk is left',
    ],
    [
      'together and apart',
      {
        affinity: {
          podAffinity: pods(zone, { tier: 'gold' }),
          podAntiAffinity: pods(zone, { 'regent.dev/cluster': 'shop' }),
        },
      },
      `in one ${zone}`,
    ],
  ])('%s contradicts itself', (_what, said, why) => {
    expect(String(whyNowhere(said, pod))).toContain(why)
  })

  it.each<[string, SaidOfPlaces]>([
    ['nothing', {}],
    ['one of two terms', onNodes([term('disk', 'Exists'), term('disk', 'DoesNotExist')], [term('disk', 'In', 'ssd')])],
    ['two lists that share a value', onNodes([term('disk', 'In', 'ssd', 'nvme'), term('disk', 'In', 'nvme')])],
    [
      'one zone, and different nodes',
      { affinity: { podAffinity: pods(zone, pod), podAntiAffinity: pods('kubernetes.io/hostname', pod) } },
    ],
    [
      'near another application, and apart',
      { affinity: { podAffinity: pods(zone, { app: 'web' }), podAntiAffinity: pods(zone, pod) } },
    ],
  ])('%s can be met', (_what, said) => {
    expect(whyNowhere(said, pod)).toBe('')
  })
})
