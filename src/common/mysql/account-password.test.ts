import { expect, test } from 'vitest'
import { newAccountSecret, passwordFor } from './account-password.ts'

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

test('the passwords of a secret from before stay what they were', () => {
  expect(passwordFor('secret', 'client')).toBe('0Mbkj6Z0LahtJTjP1-ARLkWKXSpTKEu7')
})

test('each password of a new secret has all that policy MEDIUM asks for, and is as long as the others', () => {
  for (let at = 0; at < 200; at += 1) {
    const password = passwordFor(newAccountSecret('of a test'), `user ${at}`)
    expect(password).toMatch(/^[A-Za-z0-9_-]{32}$/)
    for (const kind of [/[a-z]/, /[A-Z]/, /[0-9]/, /[_-]/]) expect(password).toMatch(kind)
  }
})
