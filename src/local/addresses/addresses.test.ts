import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createServer, type AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  claimFreeNumber,
  firstNumber,
  claimNumber,
  freeApiPort,
  handClaimTo,
  requireFreeApi,
  requireFreeInstances,
} from './addresses.ts'
import { instancesFor } from '../folder/cluster-file.ts'
import { clusterIn, freeNumber } from '../testing.ts'

async function occupy(host: string, port: number): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

const allBut = (...numbers: readonly number[]) =>
  new Set(Array.from({ length: 199 }, (_, at) => at + 1).filter((number) => !numbers.includes(number)))

describe('addresses on this machine', () => {
  test('a cluster number belongs to one process at a time', async () => {
    const number = await freeNumber()
    const claim = await claimNumber(number)
    expect(await claimNumber(number)).toBeUndefined()
    await claim?.release()
    const again = await claimNumber(number)
    expect(again?.number).toBe(number)
    await again?.release()
  })

  test.each(['', 'await new Promise((resolve) => setTimeout(resolve, 500));'])(
    'a claim is given to a child process without a moment in which the number is free, also to one that is slow to ask: %s',
    async (meanwhile) => {
      const number = await freeNumber()
      const claim = await claimNumber(number)
      const module = JSON.stringify(join(import.meta.dirname, 'addresses.ts'))
      const child = spawn(
        process.execPath,
        [
          '--input-type=module',
          '--eval',
          `import { inheritClaim } from ${module}; ${meanwhile} console.log((await inheritClaim()).number)`,
        ],
        { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] },
      )
      const handed = handClaimTo(child, claim!)
      let taken = true
      const looking = (async () => {
        for (; !child.killed; await new Promise((resolve) => setTimeout(resolve, 2)))
          taken &&= (await claimNumber(number)) === undefined
      })()
      expect(String(await new Promise((resolve) => child.stdout?.once('data', resolve))).trim()).toBe(String(number))
      await handed
      expect(taken).toBe(true)
      child.kill('SIGKILL')
      await looking
    },
  )

  test('a new cluster gets the first number that is free with all its addresses', async () => {
    const [lower = 0, higher = 0] = [await freeNumber(), await freeNumber()].toSorted((a, b) => a - b)
    await occupy(`127.24.${lower}.2`, 3306)
    const claim = await claimFreeNumber(allBut(lower, higher), 2)
    expect(claim.number).toBe(higher)
    await claim.release()
    await expect(claimFreeNumber(allBut(), 2)).rejects.toMatchObject({ code: 'REGENT_ADDRESS_IN_USE' })
  })

  test('a home of its own begins at its own number, and goes on at the first one', async () => {
    expect(firstNumber(undefined)).toBe(1)
    expect(new Set(['/a', '/b', '/c'].map(firstNumber)).size).toBe(3)
    const [lower = 0, higher = 0] = [await freeNumber(), await freeNumber()].toSorted((a, b) => a - b)
    for (const [free, claimed] of [
      [[lower, higher], higher],
      [[lower], lower],
    ] as const) {
      const claim = await claimFreeNumber(allBut(...free), 1, higher)
      expect(claim.number).toBe(claimed)
      await claim.release()
    }
  })

  test('a taken address is refused with the instance, the port and the option', async () => {
    const number = await freeNumber()
    await occupy(`127.24.${number}.2`, 9400)
    const instances = instancesFor('/x', { name: 'shop', number, hosts: [] }, 3)
    await expect(requireFreeInstances(instances)).rejects.toThrow(
      new RegExp(`127.24.${number}.2:9400, wanted for instance shop-1, .* --hosts`),
    )
    const port = await occupy('127.0.0.1', 0)
    await expect(requireFreeApi('127.0.0.1', port)).rejects.toThrow(
      `127.0.0.1:${port}, wanted for the API, is taken; choose another port with --port, for example --port ${port + 1}`,
    )
  })

  test('an API of which nobody says the port gets the next one that is free and no other cluster’s', async () => {
    const port = await occupy('127.0.0.1', 0)
    const found = await freeApiPort('127.0.0.1', port, new Set([port + 1]))
    expect(found).toBeGreaterThan(port + 1)
    await expect(requireFreeApi('127.0.0.1', found)).resolves.toBeUndefined()
    const all = new Set(Array.from({ length: 200 }, (_, beyond) => port + beyond))
    await expect(freeApiPort('127.0.0.1', port, all)).rejects.toThrow(/are taken; choose another port with --port/)
  })

  test('an address behind a wrapper is not tried from here', async () => {
    const [first] = clusterIn('/x').instances
    if (first === undefined) throw new Error('no instance')
    await expect(
      requireFreeInstances([{ ...first, address: '192.0.2.1', wrapper: ['ip', 'netns', 'exec', 'x'] }]),
    ).resolves.toBeUndefined()
    await expect(requireFreeInstances([{ ...first, address: '192.0.2.1' }])).rejects.toThrow(
      /no address of this machine/,
    )
  })
})
