import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { claimFreeNumber, claimNumber, requireFreeApi, requireFreeInstances } from './addresses.ts'
import { clusterIn } from './testing.ts'

async function occupy(host: string, port: number): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  onTestFinished(() => void server.close())
}

const below = (number: number) => new Set(Array.from({ length: number - 1 }, (_, at) => at + 1))

describe('addresses on this machine', () => {
  test('a cluster number belongs to one process at a time', async () => {
    const claim = await claimNumber(196)
    expect(await claimNumber(196)).toBeUndefined()
    await claim?.release()
    const again = await claimNumber(196)
    expect(again?.number).toBe(196)
    await again?.release()
  })

  test('a new cluster gets the first number that is free with all its addresses', async () => {
    await occupy('127.24.194.2', 3306)
    const claim = await claimFreeNumber(below(194), 2)
    expect(claim.number).toBe(195)
    await claim.release()
    await expect(claimFreeNumber(below(200), 2)).rejects.toMatchObject({ code: 'REGENT_ADDRESS_IN_USE' })
  })

  test('a taken address is refused with the instance, the port and the option', async () => {
    await occupy('127.24.198.2', 9400)
    await expect(requireFreeInstances(clusterIn('/x').instances)).rejects.toThrow(/127.24.198.2:9400, wanted for instance shop-1, .* --hosts/)
    await occupy('127.0.0.1', 9598)
    await expect(requireFreeApi('127.0.0.1', 9598)).rejects.toThrow(/127.0.0.1:9598, wanted for the API, is taken; choose another port with --port, for example --port 9599/)
  })

  test('an address behind a wrapper is not tried from here', async () => {
    const [first] = clusterIn('/x').instances
    if (first === undefined) throw new Error('no instance')
    await expect(requireFreeInstances([{ ...first, address: '192.0.2.1', wrapper: ['ip', 'netns', 'exec', 'x'] }])).resolves.toBeUndefined()
    await expect(requireFreeInstances([{ ...first, address: '192.0.2.1' }])).rejects.toThrow(/no address of this machine/)
  })
})
