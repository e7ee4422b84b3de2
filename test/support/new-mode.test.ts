import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCommand } from '#common/process/run-command.ts'
import { copyWithToy, nameToyInSwitches } from './toy-mode.ts'

const plays = `import { Converger } from './agents/converge/converger.ts'
import { answersAloneIn } from './agents/converge/mode-of.ts'
import { isEndingUnseen } from './agents/doubts/ending.ts'
import { Seeding } from './agents/orders/reseeding.ts'
import { OrderDesk } from './agents/orders/desk.ts'
import { aServerState, primaryOfEpoch3, replicaOfEpoch3, ScriptedProcess, ScriptedServer, testParts } from './agents/testing.ts'
import { decide } from './failover/decide.ts'
import { isFollowing } from './failover/judge/situation.ts'
import { aSituation } from './failover/testing.ts'
import { failover } from './src/manager/clusters/operations/failover.ts'
import { replace } from './src/manager/clusters/operations/replace.ts'

const away = { server: { channel: null } }
const situation = aSituation({ spec: { mode: 'toy' }, views: { 'shop-1': away } })
console.log(decide(situation).sentence)
console.log('follows:', isFollowing(situation.snapshot.instances[1], situation))
const asking = { input: situation, situation: () => situation, mustBeAlone: () => undefined, cluster: {} }
console.log(String(failover(asking as never, { to: null, acceptLoss: true } as never).would.sentence))
const anew = { ...asking, mustExist: () => undefined, cluster: { platform: { replace: () => undefined } }, refusal: String }
try {
  replace(anew as never, { instance: 'shop-1', acceptLoss: true } as never)
} catch (refusal) {
  console.log(refusal)
}
const process0 = new ScriptedProcess()
const parts = await testParts(new ScriptedServer(aServerState()), { process: process0 })
const config = { ...parts.config, mode: 'toy' as const }
const toy = { ...parts, config, answersAlone: answersAloneIn('toy') }
await toy.file.update({ promise: 3, revision: 10, assignment: primaryOfEpoch3 })
const converger = new Converger(toy, () => undefined)
await converger.pass()
console.log(String(toy.course.converged.sentence))
console.log('ending unseen:', isEndingUnseen({ ...toy, process: { ...process0, state: 'dead' } as never }))
await toy.file.update({ assignment: replicaOfEpoch3 })
const desk = new OrderDesk({ parts: toy, converger, seeding: new Seeding(toy, converger) }, {} as never)
const { member, cluster, version } = replicaOfEpoch3
const order = { member: member.replace(/@.*/, '@' + toy.file.current.volume), cluster, version, epoch: 3, revision: 10, destroys: '' }
await desk.obey('reseed', order as never).catch((error: Error) => console.log(error.message))
process.exit()
`

describe('A mode that is not one of the two', () => {
  it('is asked itself, whatever it is asked', async () => {
    const folder = await copyWithToy()
    await nameToyInSwitches(folder)
    await writeFile(join(folder, 'play.ts'), plays)
    const { stdout, stderr } = await runCommand([process.execPath, join(folder, 'play.ts')], {
      deadlineMs: 60_000,
    })
    expect(stderr).toBe('')
    expect(stdout.trim().split('\n')).toEqual([
      'a toy decides nothing',
      'follows: true',
      'would fail over: a toy judges by itself; writes that only shop-0 hold would be given up',
      'no replacement of shop-1: the primary is not well, and shop-1 may hold what its successor needs: a toy judges by itself',
      'a toy converges at once',
      'ending unseen: false',
      expect.stringMatching(/a toy keeps its data$/),
    ])
  })
})
