import { expect, it } from 'vitest'
import { FollowedAgents } from './followed-agents.ts'

it('Agents are followed no more once the loop has ended, though its last look at the instances ends later', () => {
  const followed = new Set<string>()
  const follow = (address: string) => {
    followed.add(address)
    return () => void followed.delete(address)
  }
  const listener = { heard: () => undefined, alive: () => undefined, lost: () => undefined }
  const agents = new FollowedAgents({ follow }, 'shop', () => listener)
  const instance = { name: 'shop-0', host: '10.0.0.1', port: 3306, agent: '10.0.0.1:9400' }
  agents.follow([instance])
  expect([...followed]).toEqual([instance.agent])
  agents.stop()
  agents.follow([instance])
  expect([...followed]).toEqual([])
})
