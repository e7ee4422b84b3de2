import { expect, it } from 'vitest'
import { anAgentConfig } from '../testing.ts'
import { throwAwayConfig } from './options.ts'

it('A throw-away server has a small buffer pool of its own, whatever that of the instance is', () => {
  for (const name of ['innodb_buffer_pool_size', 'innodb-buffer-pool-size', 'loose_innodb_buffer_pool_size']) {
    const config = anAgentConfig({ serverSettings: { [name]: '64G' } })
    const pools = throwAwayConfig(config, '/data', '/accounts')
      .split('\n')
      .filter((line) => /buffer.pool.size=/.test(line))
    expect(pools).toEqual([`${name}=64G`, 'innodb_buffer_pool_size=268435456'])
  }
})
