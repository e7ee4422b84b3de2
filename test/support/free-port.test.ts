import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { claimPort, freePort } from './free-port.ts'

it('A port that was given to a test is given to no other one, of no other process either, before it is used', async () => {
  const port = await freePort()
  const module = JSON.stringify(join(import.meta.dirname, 'free-port.ts'))
  const claims = `console.log(await (await import(${module})).claimPort('127.0.0.1', ${port}))`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', claims], { encoding: 'utf8' })
  expect([stdout.trim(), await claimPort('127.0.0.1', port)]).toEqual(['false', false])
})
