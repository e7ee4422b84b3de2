import { describe, expect, it } from 'vitest'
import { dialectOf } from './dialect.ts'

describe('the server’s dialect', () => {
  it.each([
    ['8.0.26', 'SHOW MASTER STATUS'],
    ['8.1.0', 'SHOW MASTER STATUS'],
    ['8.2.0', 'SHOW BINARY LOG STATUS'],
    ['9.7.4-2', 'SHOW BINARY LOG STATUS'],
    ['10.0.1-debug', 'SHOW BINARY LOG STATUS'],
  ])('of %s asks for the newest binary log by %s', (version, statement) => {
    expect(dialectOf(version).showBinlog).toBe(statement)
  })
})
