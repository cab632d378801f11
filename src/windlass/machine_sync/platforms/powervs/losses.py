"""What an IBMPowerVSMachine can say and the Machine API cannot: dropped, and told in warnings of ours."""

from windlass.api import capibm
from windlass.machine_sync.conversion.field_errors import Findings


def find_losses(spec: capibm.IBMPowerVSMachineSpec, found: Findings) -> None:
    """Add a loss for each field of `spec` that is set and dropped: of references given twice, the one that loses."""
    for field, value in (
        ("serviceInstance", spec.service_instance if spec.service_instance_id else None),
        ("imageRef", spec.image_ref if spec.image is not None else None),
    ):
        if value is not None:
            found.lose(f"spec.{field}", value, by="the Machine API")
