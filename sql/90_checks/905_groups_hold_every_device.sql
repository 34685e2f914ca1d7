-- Every paid device stands in exactly one group of devices.
--
-- grain: row
-- severity: error

select cluster, node_uid, gpu
from (
    select cluster, node_uid, gpu, 1 as is_device, 0 as is_grouped from ledger.devices
    union all
    select cluster, node_uid, unnest(gpus), 0, 1 from ledger.device_groups
)
group by cluster, node_uid, gpu
having sum(is_device) <> 1 or sum(is_grouped) <> 1
