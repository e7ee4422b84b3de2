import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { leftoversIn } from './leftover.ts'

async function inFolder(files: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'regent-leftover-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return leftoversIn(folder)
}

describe('What a change has left', () => {
  it('is read as it was kept, and is nothing once that is done', async () => {
    const leftovers = await inFolder({})
    expect(await leftovers.read('shop')).toBeNull()
    const leftover = { steps: [{ do: 'start', at: 'shop-1' }], servers: { 'shop-1': '10.0.0.2:3306' } } as const
    await leftovers.keep('shop', leftover)
    expect(await leftovers.read('shop')).toMatchObject(leftover)
    await leftovers.keep('shop', null)
    expect(await leftovers.read('shop')).toBeNull()
  })

  it.each(['{', '{"version":1}', '{"version":1,"steps":[{"do":"start"}]}', '{"version":2,"steps":[]}'])(
    'is refused where that cannot be understood, and no other cluster is kept from its own: %s',
    async (text) => {
      const whole = '{"version":1,"steps":[{"do":"start","at":"bank-1"}]}'
      const leftovers = await inFolder({ 'shop.json': text, 'bank.json': whole })
      await expect(leftovers.read('shop')).rejects.toThrow('shop.json')
      expect(await leftovers.read('bank')).toMatchObject({ steps: [{ do: 'start', at: 'bank-1' }] })
    },
  )
})
