import { expect, test } from 'vitest'
import { passwordFor } from './account-password.ts'

test('a password depends on the secret and the user, is 32 characters, and needs no quoting', () => {
  const password = passwordFor('secret', 'client')
  expect(password).toMatch(/^[A-Za-z0-9_-]{32}$/)
  expect(passwordFor('secret', 'client')).toBe(password)
  expect(passwordFor('secret', 'admin')).not.toBe(password)
  expect(passwordFor('other', 'client')).not.toBe(password)
  expect(passwordFor('secret', 'client', '')).toBe(password)
  expect(passwordFor('secret', 'client', 'a2')).not.toBe(password)
  expect(passwordFor('secret', 'client', 'a2')).not.toBe(passwordFor('secret', 'client', 'a3'))
})
