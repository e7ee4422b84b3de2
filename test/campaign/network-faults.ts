import { here } from '../support/namespaces.ts'
import { anyone } from './process-faults.ts'
import type { Fault } from './scene.ts'

export const networkFaults: readonly Fault[] = [
  {
    name: 'an instance is cut off',
    weight: 5,
    needsNetwork: true,
    async strike(scene) {
      const target = anyone(scene)
      await scene.network?.isolate(target)
      return { did: `${target} is cut off from everybody`, heal: async () => scene.network?.mend() }
    },
  },
  {
    name: 'two do not reach each other',
    weight: 3,
    needsNetwork: true,
    async strike(scene) {
      const [one, other] = [anyone(scene), scene.dice.pick([here, ...scene.instances])]
      if (one === other) throw new Error(`${one} reaches itself`)
      await scene.network?.cut(one, other)
      return {
        did: `${one} and ${other === here ? 'the manager' : other} do not reach each other`,
        heal: async () => scene.network?.mend(),
      }
    },
  },
]
