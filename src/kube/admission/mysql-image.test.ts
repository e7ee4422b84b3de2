import { describe, expect, it } from 'vitest'
import { isDowngrade, isPinned, namesTooOld } from './mysql-image.ts'

describe('an image', () => {
  it.each([
    'mysql:5',
    'mysql:5.7',
    'mysql:5.7.44-oracle',
    'mysql:8.0.25',
    'registry.example:5000/db/mysql:8.0.20',
    'percona/percona-server:8.0.25-15',
    'mysql:v8.0.11',
    'mysql:5.7@sha256:00',
  ])('%s is too old', (image) => {
    expect(namesTooOld(image)).toBe(true)
  })

  it.each([
    'mysql',
    'mysql:8',
    'mysql:8.0',
    'mysql:8.0.26',
    'mysql:8.4.3-debian',
    'mysql:9.1',
    'registry.example:5000/mysql',
    'shop/mysql:production',
    'shop/mysql:2024.5.7',
    'shop/mysql:57',
    'mysql@sha256:5.7',
  ])('%s is not known to be too old', (image) => {
    expect(namesTooOld(image)).toBe(false)
  })

  it.each([
    ['mysql:8.4.3', 'mysql:8.0.40', true],
    ['mysql:9.1', 'mysql:8.4', true],
    ['mysql:8.4.3', 'mysql:8.4.2', false],
    ['mysql:8.0.40', 'mysql:8.4.3', false],
    ['mysql:8', 'mysql:8.0', false],
    ['shop/mysql:blue', 'shop/mysql:8.0.40', false],
  ])('%s after %s is a step back: %s', (from, to, is) => {
    expect(isDowngrade(from, to)).toBe(is)
  })

  it('is pinned by a digest or a tag', () => {
    expect(['mysql:8.4', 'mysql@sha256:00', 'localhost:5000/mysql', 'mysql', 'mysql:latest'].map(isPinned)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ])
  })
})
