"""A switch: tasks can wait until it is on or off."""

import asyncio


class Toggle:
    """Off at first."""

    def __init__(self) -> None:
        self._on, self._off = asyncio.Event(), asyncio.Event()
        self._off.set()

    @property
    def on(self) -> bool:
        return self._on.is_set()

    def turn_on(self) -> None:
        self._off.clear()
        self._on.set()

    def turn_off(self) -> None:
        self._on.clear()
        self._off.set()

    async def wait_on(self) -> None:
        await self._on.wait()

    async def wait_off(self) -> None:
        await self._off.wait()
