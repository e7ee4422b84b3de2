import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { SqlConnection } from '../sql/connections/connection.ts'
import { loginOf } from './login.ts'

it('The password of a far server is as its file has it at each login, and as before while that cannot be read', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'regent-password-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, 'first\n')
  const { password, authority } = await loginOf({ user: 'keeper', passwordFile })
  expect(authority).toBeUndefined()
  expect(await password()).toBe('first')
  await writeFile(passwordFile, 'second\r\n')
  expect(await password()).toBe('second')
  await rm(passwordFile)
  expect(await password()).toBe('second')
  await expect(loginOf({ user: 'keeper', passwordFile })).rejects.toMatchObject({ code: 'REGENT_SECRET_LOST' })
})

it('It is asked for at each login', async () => {
  let asked = 0
  const password = async (): Promise<string> => String((asked += 1))
  const target = { ...{ host: '127.0.0.1', port: 1, overTls: false, user: 'keeper', password }, identity: null }
  const logIn = () => SqlConnection.open([target], 'DO 0', () => undefined)
  await expect(logIn()).rejects.toMatchObject({ code: 'REGENT_SERVER_DOWN' })
  await expect(logIn()).rejects.toMatchObject({ code: 'REGENT_SERVER_DOWN' })
  expect(asked).toBe(2)
})
