import { expect, it } from 'vitest'
import { withoutRedundant } from './packages.ts'

it('A module of MHA goes on where perl warns of one value too many, and stops at every other warning', () => {
  const module = "use strict;\nuse warnings FATAL => 'all';\n\nsub one { }\n"
  expect(withoutRedundant(module)).toBe(
    "use strict;\nuse warnings FATAL => 'all'; no warnings 'redundant';\n\nsub one { }\n",
  )
})
